// SPDX-License-Identifier: GPL-2.0
/*
 * corefold-work KIND WORKERS FILE [ARGUMENT]: a load for a guest. Each of WORKERS processes does rounds of work without
 * end; FILE holds the rounds that all of them have done. A process makes one system call a round to bring FILE up to
 * date: nobody else has to get a CPU for that.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_WORKERS	1024

/* One cache line each: the processes share nothing that they write. */
struct counter {
	volatile unsigned long rounds;
	char pad[120];
};

static struct shared {
	struct counter counters[MAX_WORKERS];
	pthread_mutex_t lock;
} *shared;

static int workers, fd;
static unsigned long argument;

static void die(const char *what)
{
	perror(what);
	_exit(1);
}

/* A late, lower sum that overwrites another is put right a round later; its first line is a number all the same. */
static void report(void)
{
	unsigned long rounds = 0;
	char line[24];

	for (int i = 0; i < workers; i++)
		rounds += shared->counters[i].rounds;
	if (pwrite(fd, line, snprintf(line, sizeof(line), "%lu\n", rounds), 0) < 0)
		die("the file of rounds");
}

static void steps(unsigned long count)
{
	static unsigned long x = 88172645463325252UL;

	while (count--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	/* Never true, but the compiler does not know. */
	if (!x)
		_exit(1);
}

/* Nothing but computing. */
static void compute(void)
{
	steps(2000000);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

/* Computes for ARGUMENT milliseconds, then sleeps for as long: all workers do so at the same time. */
static void burst(void)
{
	uint64_t phase = now_ms() % (2 * argument);

	if (phase >= argument)
		usleep((2 * argument - phase) * 1000);
	steps(200000);
}

/*
 * A lock that all want: half of the work is done under it, so that from two workers on they queue. It spins for a moment
 * before it sleeps, as locks of busy programs do.
 */
static void lock(void)
{
	for (int i = 0; i < 50; i++) {
		if (pthread_mutex_lock(&shared->lock))
			die("the lock");
		steps(4000);
		pthread_mutex_unlock(&shared->lock);
		steps(4000);
	}
}

#define CELLS	(4UL << 20 >> 6)

/* One cache line. */
struct cell {
	uint32_t next;
	uint32_t visits;
	char pad[56];
};

/* Makes one cycle through all cells, in random order. */
static void link_cells(struct cell *cells)
{
	uint64_t x = 88172645463325252UL;

	for (uint32_t i = 0; i < CELLS; i++)
		cells[i].next = i;
	for (uint32_t i = CELLS - 1; i > 0; i--) {
		uint32_t other, next = cells[i].next;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		other = x % i;
		cells[i].next = cells[other].next;
		cells[other].next = next;
	}
}

/* Follows pointers through 4 MiB of its own, and writes each cell that it meets. */
static void memory(void)
{
	static struct cell *cells;
	static uint32_t at;

	if (!cells) {
		cells = mmap(NULL, CELLS * sizeof(*cells), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (cells == MAP_FAILED)
			die("memory");
		link_cells(cells);
	}
	for (int i = 0; i < 200000; i++) {
		cells[at].visits++;
		at = cells[at].next;
	}
}

/* Starts a program and waits for its end. */
static void exec(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		execl("/bin/busybox", "true", NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		die("a program");
}

static const struct kind {
	const char *name;
	void (*round)(void);
	int needs_argument;
} kinds[] = {
	{ "compute", compute, 0 },
	{ "burst", burst, 1 },
	{ "lock", lock, 0 },
	{ "memory", memory, 0 },
	{ "exec", exec, 0 },
};

#define NR_KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static int usage(const char *program)
{
	fprintf(stderr, "usage: %s KIND WORKERS FILE [ARGUMENT]\nkinds:", program);
	for (size_t i = 0; i < NR_KINDS; i++)
		fprintf(stderr, " %s%s", kinds[i].name, kinds[i].needs_argument ? " (MILLISECONDS)" : "");
	fprintf(stderr, "\n");
	return 2;
}

static void set_up(const char *file)
{
	pthread_mutexattr_t attributes;

	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		die(file);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("memory");
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
	errno = pthread_mutex_init(&shared->lock, &attributes);
	if (errno)
		die("the lock");
	report();
}

int main(int argc, char **argv)
{
	const struct kind *kind = NULL;

	for (size_t i = 0; argc > 1 && i < NR_KINDS; i++) {
		if (!strcmp(argv[1], kinds[i].name))
			kind = &kinds[i];
	}
	if (!kind || argc != 4 + kind->needs_argument)
		return usage(argv[0]);
	workers = atoi(argv[2]);
	argument = kind->needs_argument ? strtoul(argv[4], NULL, 10) : 1;
	if (workers < 1 || workers > MAX_WORKERS || !argument)
		return usage(argv[0]);

	set_up(argv[3]);
	for (int i = 0; i < workers; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			kind->round();
			shared->counters[i].rounds++;
			report();
		}
	}
	/* None of them ends by itself. */
	wait(NULL);
	return 1;
}
