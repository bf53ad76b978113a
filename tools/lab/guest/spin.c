// SPDX-License-Identifier: GPL-2.0
/*
 * corefold-spin THREADS FILE: a pure CPU load for a guest. Each of THREADS processes computes; FILE holds the
 * rounds that all of them have done. A process makes one system call a round, to bring FILE up to date: nobody else
 * has to get a CPU for that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <fcntl.h>
#include <unistd.h>

#define MAX_THREADS	1024
#define ROUND		2000000UL

/* One cache line each: the processes share nothing that they write. */
struct counter {
	volatile unsigned long rounds;
	char pad[120];
};

static struct counter *counters;
static int threads, fd;

/* A late, lower sum that overwrites another is put right a round later; its first line is a number all the same. */
static void report(void)
{
	unsigned long rounds = 0;
	char line[24];

	for (int i = 0; i < threads; i++)
		rounds += counters[i].rounds;
	if (pwrite(fd, line, snprintf(line, sizeof(line), "%lu\n", rounds), 0) < 0)
		_exit(1);
}

static void spin(struct counter *counter)
{
	unsigned long x = 88172645463325252UL;

	for (;;) {
		for (unsigned long i = 0; i < ROUND; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
		}
		/* Never true, but the compiler does not know. */
		if (!x)
			_exit(1);
		counter->rounds++;
		report();
	}
}

int main(int argc, char **argv)
{
	threads = argc == 3 ? atoi(argv[1]) : 0;
	if (threads < 1 || threads > MAX_THREADS) {
		fprintf(stderr, "usage: %s THREADS FILE\n", argv[0]);
		return 2;
	}
	fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0644);
	counters = mmap(NULL, threads * sizeof(*counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || counters == MAP_FAILED) {
		perror(argv[0]);
		return 1;
	}
	report();
	for (int i = 0; i < threads; i++) {
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			spin(&counters[i]);
		}
	}
	/* None of them ends by itself. */
	wait(NULL);
	return 1;
}
