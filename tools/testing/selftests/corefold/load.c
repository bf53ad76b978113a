// SPDX-License-Identifier: GPL-2.0
/*
 * load COUNT [CPULIST]: run COUNT spinning tasks until killed.
 * load on CPULIST PID...: exit 0 if any of the tasks is on one of the CPUs.
 * load hold FILE: open FILE, say "open", and close it when standard input ends.
 * load covers CPULIST CPULIST: exit 0 if the first has all CPUs of the second.
 * load rounds FILE NAME COUNT: load the module in FILE, and unload it again, COUNT times.
 * load write FILE TEXT: write TEXT in one write(2), print 0 or the error's number.
 */
#include <sys/syscall.h>
#include "util.h"

static int run_spinners(int count, const char *list)
{
	struct worker *workers = alloc_workers(count);
	cpu_set_t affinity;

	if (!workers || (list && !parse_list(list, &affinity)))
		return 1;
	for (int i = 0; i < count; i++)
		if (!start_worker(&workers[i], spin, list ? &affinity : NULL, SCHED_OTHER, 0))
			return 1;
	pause();
	return 0;
}

static int any_on(const char *list, char **pids)
{
	cpu_set_t set;

	if (!parse_list(list, &set))
		return 2;
	for (; *pids; pids++) {
		int cpu = cpu_of(atoi(*pids));

		if (cpu >= 0 && CPU_ISSET(cpu, &set))
			return 0;
	}
	return 1;
}

static int covers(const char *list, const char *part)
{
	cpu_set_t set, subset, both;

	if (!parse_list(list, &set) || !parse_list(part, &subset))
		return 2;
	CPU_AND(&both, &set, &subset);
	return !CPU_EQUAL(&both, &subset);
}

static int hold(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY);

	if (fd < 0) {
		printf("%s\n", strerror(errno));
		return 1;
	}
	if (read(fd, &byte, 1) < 0)
		perror(path);
	printf("open\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	close(fd);
	return 0;
}

static int rounds(const char *path, const char *name, int count)
{
	for (int round = 1; round <= count; round++) {
		int file = open(path, O_RDONLY | O_CLOEXEC);

		if (syscall(SYS_finit_module, file, "", 0)) {
			printf("# round %d: cannot load: %s\n", round, strerror(errno));
			return 1;
		}
		close(file);
		/* Now and then it gets to sample. */
		if (round % 100 == 0)
			sleep_ms(2500);
		if (syscall(SYS_delete_module, name, O_NONBLOCK)) {
			printf("# round %d: cannot unload: %s\n", round, strerror(errno));
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 4 && !strcmp(argv[1], "on"))
		return any_on(argv[2], argv + 3);
	if (argc == 3 && !strcmp(argv[1], "hold"))
		return hold(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "covers"))
		return covers(argv[2], argv[3]);
	if (argc == 5 && !strcmp(argv[1], "rounds"))
		return rounds(argv[2], argv[3], atoi(argv[4]));
	if (argc == 4 && !strcmp(argv[1], "write")) {
		printf("%d\n", -write_file(argv[2], "%s", argv[3]));
		return 0;
	}
	if (argc < 2 || atoi(argv[1]) < 1)
		return 2;
	return run_spinners(atoi(argv[1]), argv[2]);
}
