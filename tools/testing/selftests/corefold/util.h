/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the corefold tests share: small files, CPU lists, and tasks that note where they run.
 */
#ifndef _COREFOLD_UTIL_H
#define _COREFOLD_UTIL_H

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define MAX_CPUS	64
#define LAB		"/sys/kernel/debug/corefold_lab/"
#define CPU_DIR		"/sys/devices/system/cpu/"

/* Write text to a file: 0, or the negative error. */
static inline int write_file(const char *path, const char *format, ...)
{
	char text[512];
	va_list args;
	int fd, length, ret = 0;

	va_start(args, format);
	length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -errno;
	if (write(fd, text, length) != length)
		ret = -errno;
	close(fd);
	return ret;
}

/* Read a small file without its trailing newline: its length, or the negative error. */
static inline int read_file(const char *path, char *text, size_t size)
{
	ssize_t length;
	int fd;

	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -errno;
	length = read(fd, text, size - 1);
	close(fd);
	if (length < 0)
		return -errno;
	while (length && isspace((unsigned char)text[length - 1]))
		length--;
	text[length] = '\0';
	return length;
}

/* Parse a list such as "0-3,8". */
static inline bool parse_list(const char *text, cpu_set_t *set)
{
	char *end;
	long first, last;

	CPU_ZERO(set);
	while (*text) {
		first = strtol(text, &end, 10);
		last = first;
		if (end == text)
			return false;
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (; first <= last && first < MAX_CPUS; first++)
			CPU_SET(first, set);
		text = *end == ',' ? end + 1 : end;
		if (*end && *end != ',')
			return false;
	}
	return true;
}

static inline const char *format_list(const cpu_set_t *set)
{
	static char text[4][256];
	static int turn;
	char *out = text[turn++ % 4];
	int length = 0;

	out[0] = '\0';
	for (int cpu = 0; cpu < MAX_CPUS; cpu++)
		if (CPU_ISSET(cpu, set))
			length += snprintf(out + length, 256 - length, "%s%d",
					   length ? "," : "", cpu);
	return out;
}

/* Read a file that holds a CPU list; the set is empty if it cannot be read. */
static inline bool read_list(const char *path, cpu_set_t *set)
{
	char text[256];

	CPU_ZERO(set);
	return read_file(path, text, sizeof(text)) >= 0 && parse_list(text, set);
}

/* Write to the online file of a CPU: 0, or the negative error. */
static inline int set_online(int cpu, int online)
{
	char path[64];

	snprintf(path, sizeof(path), CPU_DIR "cpu%d/online", cpu);
	return write_file(path, "%d", online);
}

/* The CPUs of the core of a CPU. */
static inline void core_of(int cpu, cpu_set_t *core)
{
	char path[96];

	snprintf(path, sizeof(path), CPU_DIR "cpu%d/topology/thread_siblings_list", cpu);
	read_list(path, core);
}

static inline bool intersects(const cpu_set_t *a, const cpu_set_t *b)
{
	cpu_set_t both;

	CPU_AND(&both, a, b);
	return CPU_COUNT(&both);
}

static inline int first_cpu(const cpu_set_t *set)
{
	for (int cpu = 0; cpu < MAX_CPUS; cpu++)
		if (CPU_ISSET(cpu, set))
			return cpu;
	return -1;
}

static inline int last_cpu(const cpu_set_t *set)
{
	for (int cpu = MAX_CPUS - 1; cpu >= 0; cpu--)
		if (CPU_ISSET(cpu, set))
			return cpu;
	return -1;
}

static inline void sleep_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

static inline int64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* The CPU that a task is on, or was on last, by field 39 of its stat file. */
static inline int cpu_of(pid_t pid)
{
	char path[64], text[1024], *field;
	int number;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (read_file(path, text, sizeof(text)) < 0)
		return -1;
	field = strrchr(text, ')');
	for (number = 2; field && number < 39; number++)
		field = strchr(field + 1, ' ');
	return field ? atoi(field) : -1;
}

/* A task that counts where it runs; in memory that the test shares with it. */
struct worker {
	pid_t pid;
	uint64_t loops;
	uint64_t seen[MAX_CPUS];
};

static inline void count_up(uint64_t *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

static inline uint64_t count_of(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static inline void note(struct worker *worker)
{
	int cpu = sched_getcpu();

	if (cpu >= 0 && cpu < MAX_CPUS)
		count_up(&worker->seen[cpu]);
	count_up(&worker->loops);
}

static inline void spin(struct worker *worker)
{
	for (;;) {
		note(worker);
		for (int i = 0; i < 500; i++)
			__asm__ __volatile__("" ::: "memory");
	}
}

/* Sleep and wake up, all the time. */
static inline void doze(struct worker *worker)
{
	for (;;) {
		sleep_ms(1);
		note(worker);
	}
}

static inline struct worker *alloc_workers(int count)
{
	void *page = mmap(NULL, count * sizeof(struct worker), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED ? NULL : page;
}

/* Start a worker with an affinity (NULL: inherit), and with a policy and priority. */
static inline bool start_worker(struct worker *worker, void (*run)(struct worker *),
				const cpu_set_t *affinity, int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };
	pid_t pid = fork();

	/* Shared memory: the child must not write its zero there. */
	if (pid) {
		worker->pid = pid;
		return pid > 0;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (affinity && sched_setaffinity(0, sizeof(*affinity), affinity))
		_exit(1);
	if (policy != SCHED_OTHER && sched_setscheduler(0, policy, &param))
		_exit(1);
	/* The test itself goes first, where all share a CPU. */
	if (policy == SCHED_OTHER && nice(10) < 0)
		_exit(1);
	run(worker);
	_exit(0);
}

static inline void stop_workers(struct worker *workers, int count)
{
	for (int i = 0; i < count; i++)
		if (workers[i].pid > 0)
			kill(workers[i].pid, SIGKILL);
	for (int i = 0; i < count; i++)
		if (workers[i].pid > 0)
			waitpid(workers[i].pid, NULL, 0);
}

/* How often workers were seen on any CPU of a set. */
static inline uint64_t times_on(const struct worker *workers, int count, const cpu_set_t *set)
{
	uint64_t sum = 0;

	for (int i = 0; i < count; i++)
		for (int cpu = 0; cpu < MAX_CPUS; cpu++)
			if (CPU_ISSET(cpu, set))
				sum += count_of(&workers[i].seen[cpu]);
	return sum;
}

/* How many workers are on a set now, running or queued. */
static inline int workers_on(const struct worker *workers, int count, const cpu_set_t *set)
{
	int sum = 0;

	for (int i = 0; i < count; i++) {
		int cpu = cpu_of(workers[i].pid);

		sum += cpu >= 0 && CPU_ISSET(cpu, set);
	}
	return sum;
}

#endif /* _COREFOLD_UTIL_H */
