// SPDX-License-Identifier: GPL-2.0
/*
 * Busy threads that share data, and where they run.
 *
 * ring THREADS [CPULIST]: let THREADS threads chase pointers around one ring in memory until
 *	killed; with a list, they stay on these CPUs.
 * ring free PID...: let all threads of the processes run on all CPUs.
 * ring watch CPULIST MS PID...: watch all threads of the processes for so long, then print how much
 *	of their run time they spent on the CPUs of the list, in basis points, the run time in
 *	milliseconds, and how often one of them was moved from these CPUs to another.
 * ring wait CPULIST MS PID...: wait until all threads of the processes are on the CPUs of the list,
 *	then print after how many milliseconds; fail after MS.
 */
#include <dirent.h>
#include <pthread.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include "util.h"

#define WORKER		"ring-worker"
#define TRACING		"/sys/kernel/tracing/"
#define MAX_THREADS	64

/* What the threads go round: small, as emulators have no cache that could hold it or not. */
#define RING_BYTES	(1024 * 1024)
#define LINE_BYTES	64

struct line {
	struct line *next;
	char rest[LINE_BYTES - sizeof(struct line *)];
};

static struct line ring[RING_BYTES / LINE_BYTES];

#define LINES		(sizeof(ring) / sizeof(*ring))

/* One cycle through all lines in an order that no prefetcher guesses (Sattolo's algorithm). */
static void link_ring(void)
{
	static unsigned int order[LINES];
	unsigned int last = LINES - 1;

	for (unsigned int i = 0; i < LINES; i++)
		order[i] = i;
	for (unsigned int i = last; i > 0; i--) {
		unsigned int other = rand() % i, kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
	for (unsigned int i = 0; i < last; i++)
		ring[order[i]].next = &ring[order[i + 1]];
	ring[order[last]].next = &ring[order[0]];
}

static void *chase(void *start)
{
	struct line *line = start;

	prctl(PR_SET_NAME, WORKER);
	for (;;) {
		line = line->next;
		/* The compiler must not see that nobody asks where this leads. */
		__asm__ __volatile__("" : "+r"(line));
	}
	return NULL;
}

static int run(int threads, const char *list)
{
	pthread_t thread;
	cpu_set_t cpus;

	if (list && (!parse_list(list, &cpus) || sched_setaffinity(0, sizeof(cpus), &cpus)))
		return 1;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	link_ring();
	/* A process of one thread shares its data with nobody: the first thread works as well. */
	for (int i = 1; i < threads; i++)
		if (pthread_create(&thread, NULL, chase, &ring[i * (LINES / threads)]))
			return 1;
	chase(&ring[0]);
	return 0;
}

/* The threads of all processes of a list: how many, or -1. */
static int find_threads(char **pids, pid_t *threads)
{
	int count = 0;

	for (; *pids; pids++) {
		struct dirent *entry;
		char path[64];
		DIR *dir;

		snprintf(path, sizeof(path), "/proc/%d/task", atoi(*pids));
		dir = opendir(path);
		if (!dir)
			return -1;
		while ((entry = readdir(dir)) && count < MAX_THREADS)
			if (isdigit((unsigned char)entry->d_name[0]))
				threads[count++] = atoi(entry->d_name);
		closedir(dir);
	}
	return count;
}

static int set_free(const pid_t *threads, int count)
{
	cpu_set_t online;

	if (!read_list(CPU_DIR "online", &online))
		return 1;
	for (int i = 0; i < count; i++)
		if (sched_setaffinity(threads[i], sizeof(online), &online))
			return 1;
	return 0;
}

static int open_counter(uint32_t type, uint64_t config, pid_t pid, int cpu)
{
	struct perf_event_attr attr = { .type = type, .size = sizeof(attr), .config = config };

	return syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static uint64_t read_counter(int file)
{
	uint64_t value = 0;

	return read(file, &value, sizeof(value)) == sizeof(value) ? value : 0;
}

/* On each CPU, a counter of the workers that the kernel moves from the set to another CPU. */
static bool open_moves(int *files, const cpu_set_t *online, const cpu_set_t *set)
{
	const char *list = format_list(set);
	char id[16], filter[640];

	if (access(TRACING "events", R_OK) && mount("none", TRACING, "tracefs", 0, NULL))
		return false;
	if (read_file(TRACING "events/sched/sched_migrate_task/id", id, sizeof(id)) < 0)
		return false;
	snprintf(filter, sizeof(filter),
		 "comm == \"" WORKER "\" && orig_cpu & CPUS{%s} && !(dest_cpu & CPUS{%s})",
		 list, list);
	for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
		if (!CPU_ISSET(cpu, online))
			continue;
		files[cpu] = open_counter(PERF_TYPE_TRACEPOINT, atoi(id), -1, cpu);
		if (files[cpu] < 0 || ioctl(files[cpu], PERF_EVENT_IOC_SET_FILTER, filter))
			return false;
	}
	return true;
}

/* For each thread and CPU, a counter of the time that the thread runs there. */
static bool open_times(int (*files)[MAX_CPUS], const cpu_set_t *online, const pid_t *threads,
		       int count)
{
	for (int i = 0; i < count; i++) {
		for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
			if (!CPU_ISSET(cpu, online))
				continue;
			files[i][cpu] = open_counter(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK,
						     threads[i], cpu);
			if (files[i][cpu] < 0)
				return false;
		}
	}
	return true;
}

static int watch(const cpu_set_t *set, long ms, const pid_t *threads, int count)
{
	static int times[MAX_THREADS][MAX_CPUS], moves[MAX_CPUS];
	uint64_t inside = 0, whole = 0, left = 0;
	cpu_set_t online;

	if (!read_list(CPU_DIR "online", &online) || !open_moves(moves, &online, set) ||
	    !open_times(times, &online, threads, count)) {
		perror("ring: cannot count");
		return 1;
	}
	sleep_ms(ms);
	for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
		if (!CPU_ISSET(cpu, &online))
			continue;
		left += read_counter(moves[cpu]);
		for (int i = 0; i < count; i++) {
			uint64_t time = read_counter(times[i][cpu]);

			whole += time;
			inside += CPU_ISSET(cpu, set) ? time : 0;
		}
	}
	if (!whole) {
		fprintf(stderr, "ring: none of the threads has run\n");
		return 1;
	}
	printf("%llu %llu %llu\n", (unsigned long long)(inside * 10000 / whole),
	       (unsigned long long)(whole / 1000000), (unsigned long long)left);
	return 0;
}

static int wait_for(const cpu_set_t *set, long ms, const pid_t *threads, int count)
{
	int64_t start = now_ns(), passed;

	do {
		int there = 0;

		for (int i = 0; i < count; i++) {
			int cpu = cpu_of(threads[i]);

			there += cpu >= 0 && CPU_ISSET(cpu, set);
		}
		passed = (now_ns() - start) / 1000000;
		if (there == count) {
			printf("%lld\n", (long long)passed);
			return 0;
		}
		sleep_ms(5);
	} while (passed < ms);
	return 1;
}

int main(int argc, char **argv)
{
	pid_t threads[MAX_THREADS];
	cpu_set_t set;
	int count;

	if (argc >= 3 && !strcmp(argv[1], "free")) {
		count = find_threads(argv + 2, threads);
		return count > 0 ? set_free(threads, count) : 1;
	}
	if (argc >= 5 && (!strcmp(argv[1], "watch") || !strcmp(argv[1], "wait"))) {
		count = find_threads(argv + 4, threads);
		if (count < 1 || !parse_list(argv[2], &set))
			return 2;
		return !strcmp(argv[1], "watch") ? watch(&set, atol(argv[3]), threads, count) :
						   wait_for(&set, atol(argv[3]), threads, count);
	}
	if (argc < 2 || atoi(argv[1]) < 1 || atoi(argv[1]) > MAX_THREADS)
		return 2;
	return run(atoi(argv[1]), argv[2]);
}
