// SPDX-License-Identifier: GPL-2.0
/*
 * steal PERCENT CPULIST [MILLISECONDS [STEP]]: let CPUs lose PERCENT of the time, through
 * corefold_lab's steal file, until killed or for so long; 0 is for ever. It goes on from where the
 * counters are, each STEP milliseconds, or 20.
 * steal grant=CPUS CPULIST [MILLISECONDS [STEP]]: as a host that gives the time of so many CPUs, in
 * equal parts, to those that are not folded.
 */
#include "util.h"

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

/* Parts of a thousand that each of the CPUs loses; leaves out those that are folded. */
static int share(const char *spec, cpu_set_t *cpus)
{
	cpu_set_t folded;
	int granted, used;

	if (sscanf(spec, "grant=%d", &granted) != 1)
		return atoi(spec) * 10;
	read_list(CPU_DIR "soft_offline", &folded);
	CPU_AND(&folded, &folded, cpus);
	CPU_XOR(cpus, cpus, &folded);
	used = CPU_COUNT(cpus);
	return used > granted ? (used - granted) * 1000 / used : 0;
}

int main(int argc, char **argv)
{
	struct sched_param param = { .sched_priority = 50 };
	int64_t start, then, now;
	cpu_set_t all, cpus;
	long limit;
	int file, step;

	if (argc < 3 || !parse_list(argv[2], &all) || !read_counters())
		return 2;
	file = open(LAB "steal", O_WRONLY);
	if (file < 0)
		return 1;
	/* A clock does not wait for its turn. */
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		return 1;
	limit = argc > 3 ? atol(argv[3]) : 0;
	step = argc > 4 ? atoi(argv[4]) : 20;
	start = now_ns();
	then = start;
	while (!limit || then - start < limit * 1000000LL) {
		int lost;

		sleep_ms(step);
		now = now_ns();
		cpus = all;
		lost = share(argv[1], &cpus);
		for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
			if (!CPU_ISSET(cpu, &cpus))
				continue;
			counter[cpu] += (now - then) * lost / 1000;
			if (dprintf(file, "%d %llu\n", cpu, (unsigned long long)counter[cpu]) < 0)
				return 1;
		}
		then = now;
	}
	return 0;
}
