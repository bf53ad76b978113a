// SPDX-License-Identifier: GPL-2.0
/*
 * corefold-spin THREADS FILE: a pure CPU load for a guest. Each of THREADS processes computes without system calls;
 * FILE holds the rounds that all of them have done, brought up to date ten times a second.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS	1024
#define ROUND		2000000UL

/* One cache line each: the processes share nothing that they write. */
struct counter {
	volatile unsigned long rounds;
	char pad[120];
};

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
	}
}

static void report(int fd, const struct counter *counters, int threads)
{
	unsigned long rounds = 0;
	char line[24];

	for (int i = 0; i < threads; i++)
		rounds += counters[i].rounds;
	/* Never shorter than before, so that a reader sees one number or the other. */
	if (pwrite(fd, line, snprintf(line, sizeof(line), "%lu\n", rounds), 0) < 0)
		exit(1);
}

int main(int argc, char **argv)
{
	int threads = argc == 3 ? atoi(argv[1]) : 0;
	struct counter *counters;
	int fd;

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
	report(fd, counters, threads);
	for (int i = 0; i < threads; i++) {
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			spin(&counters[i]);
		}
	}
	for (;;) {
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
		report(fd, counters, threads);
	}
}
