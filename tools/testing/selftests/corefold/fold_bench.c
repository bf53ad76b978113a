// SPDX-License-Identifier: GPL-2.0
/*
 * fold_bench soft|hard TASKS: crowd TASKS spinning tasks on the last core, let them run anywhere,
 * and print how many milliseconds it takes until none is there any more: after soft offline, or
 * after a real one.
 */
#include "util.h"

static int crowd(struct worker *workers, int count, const cpu_set_t *core)
{
	for (int i = 0; i < count; i++)
		if (!start_worker(&workers[i], spin, core, SCHED_OTHER, 0))
			return -1;
	for (int tries = 0; tries < 600; tries++) {
		int running = 0;

		for (int i = 0; i < count; i++)
			running += count_of(&workers[i].loops) > 0;
		if (running == count)
			return 0;
		sleep_ms(100);
	}
	return -1;
}

/* Look only at those that were not seen elsewhere yet; a file that is open already costs least. */
static bool wait_gone(const int *files, int count, const cpu_set_t *core)
{
	int64_t limit = now_ns() + 20000000000LL;

	for (int i = 0; i < count; i++) {
		char text[512], *field;
		int length, number;

		do {
			length = pread(files[i], text, sizeof(text) - 1, 0);
			if (length <= 0 || now_ns() > limit)
				return false;
			text[length] = '\0';
			field = strrchr(text, ')');
			for (number = 2; number < 39; number++)
				field = strchr(field + 1, ' ');
		} while (CPU_ISSET(atoi(field), core));
	}
	return true;
}

static int leave(bool soft, const cpu_set_t *core)
{
	char path[64];
	int ret = 0;

	if (soft)
		return write_file(LAB "soft_offline", "%s\n", format_list(core));
	for (int cpu = 0; cpu < MAX_CPUS && !ret; cpu++) {
		if (!CPU_ISSET(cpu, core))
			continue;
		snprintf(path, sizeof(path), CPU_DIR "cpu%d/online", cpu);
		ret = write_file(path, "0");
	}
	return ret;
}

static void come_back(bool soft, const cpu_set_t *core)
{
	char path[64];

	if (soft)
		write_file(LAB "soft_offline", "release\n");
	for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
		if (soft || !CPU_ISSET(cpu, core))
			continue;
		snprintf(path, sizeof(path), CPU_DIR "cpu%d/online", cpu);
		write_file(path, "1");
	}
}

int main(int argc, char **argv)
{
	struct sched_param param = { .sched_priority = 50 };
	cpu_set_t online, core, first;
	struct worker *workers;
	int64_t start, end;
	int *files, count;
	char path[96];
	bool soft;

	if (argc != 3)
		return 2;
	soft = !strcmp(argv[1], "soft");
	count = atoi(argv[2]);
	workers = alloc_workers(count);
	files = calloc(count, sizeof(*files));
	if (!workers || !files || !read_list(CPU_DIR "online", &online))
		return 1;
	snprintf(path, sizeof(path), CPU_DIR "cpu%d/topology/thread_siblings_list",
		 last_cpu(&online));
	read_list(path, &core);

	/* The observer must not wait for those it observes. */
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (crowd(workers, count, &core) || sched_setaffinity(0, sizeof(first), &first) ||
	    sched_setscheduler(0, SCHED_FIFO, &param))
		return 1;
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "/proc/%d/stat", workers[i].pid);
		files[i] = open(path, O_RDONLY);
		if (files[i] < 0)
			return 1;
	}
	for (int i = 0; i < count; i++)
		sched_setaffinity(workers[i].pid, sizeof(online), &online);

	fprintf(stderr, "%d of %d there\n", workers_on(workers, count, &core), count);
	start = now_ns();
	if (leave(soft, &core) || !wait_gone(files, count, &core))
		return 1;
	end = now_ns();
	come_back(soft, &core);
	stop_workers(workers, count);
	printf("%s_ms %.3f\n", soft ? "evacuate" : "offline", (end - start) / 1e6);
	return 0;
}
