// SPDX-License-Identifier: GPL-2.0
/*
 * steal PERCENT CPULIST [MILLISECONDS]: let CPUs lose PERCENT of the time, through corefold_lab's
 * steal file, until killed or for so long. It goes on from where the counters are.
 */
#include "util.h"

#define STEP_MS 20

static uint64_t counter[MAX_CPUS];

/* The file reads as lines "CPU NS". */
static bool read_counters(void)
{
	static char text[8192];
	unsigned long long ns;
	int cpu;

	if (read_file(LAB "steal", text, sizeof(text)) < 0)
		return false;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (sscanf(line, "%d %llu", &cpu, &ns) == 2 && cpu >= 0 && cpu < MAX_CPUS)
			counter[cpu] = ns;
	return true;
}

int main(int argc, char **argv)
{
	struct sched_param param = { .sched_priority = 50 };
	int64_t start, then, now;
	cpu_set_t cpus;
	long limit;
	int percent, file;

	if (argc < 3 || !parse_list(argv[2], &cpus) || !read_counters())
		return 2;
	file = open(LAB "steal", O_WRONLY);
	if (file < 0)
		return 1;
	/* A clock does not wait for its turn. */
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		return 1;
	percent = atoi(argv[1]);
	limit = argc > 3 ? atol(argv[3]) : 0;
	start = now_ns();
	then = start;
	while (!limit || then - start < limit * 1000000LL) {
		sleep_ms(STEP_MS);
		now = now_ns();
		for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
			if (!CPU_ISSET(cpu, &cpus))
				continue;
			counter[cpu] += (now - then) * percent / 100;
			if (dprintf(file, "%d %llu\n", cpu, (unsigned long long)counter[cpu]) < 0)
				return 1;
		}
		then = now;
	}
	return 0;
}
