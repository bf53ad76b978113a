// SPDX-License-Identifier: GPL-2.0
/*
 * Asym priority, driven directly: corefold_lab_pack claims it, and sets whatever priorities and
 * levels are written to its files.
 */
#include <limits.h>
#include "kselftest_harness.h"
#include "util.h"

#define PACK		"/sys/kernel/debug/corefold_lab_pack/"
#define SCHED_DOMAINS	"/sys/kernel/debug/sched/domains/"
#define MAX_DOMAINS	(MAX_CPUS * 6)
#define CROWD		16

/* One domain of one CPU, as the scheduler tells the module. */
struct domain {
	int cpu;
	char name[16];
	cpu_set_t span;
	unsigned int flags;
	int preferred;		/* -1: the domain does not pack */
};

static int read_domains(struct domain *domains)
{
	char line[512], span[256];
	int count = 0;
	FILE *file;

	file = fopen(PACK "domains", "r");
	if (!file)
		return -1;
	while (count < MAX_DOMAINS && fgets(line, sizeof(line), file)) {
		struct domain *domain = &domains[count++];

		if (sscanf(line, "%d %15s %255s %x %d", &domain->cpu, domain->name, span,
			   &domain->flags, &domain->preferred) != 5 ||
		    !parse_list(span, &domain->span)) {
			count = -1;
			break;
		}
	}
	fclose(file);
	return count;
}

/* All that the scheduler shows of its domains, here and through the module. */
static void snapshot(char *text, size_t size)
{
	static const char * const files[] = { "name", "flags", "group_asym_prefer_cpu" };
	char path[128], part[512];
	size_t length;
	int fd;

	text[0] = '\0';
	for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
		for (int depth = 0; depth < 6; depth++) {
			for (int i = 0; i < 3; i++) {
				snprintf(path, sizeof(path), SCHED_DOMAINS "cpu%d/domain%d/%s",
					 cpu, depth, files[i]);
				if (read_file(path, part, sizeof(part)) < 0)
					continue;
				length = strlen(text);
				snprintf(text + length, size - length, "%d.%d %s %s\n", cpu, depth,
					 files[i], part);
			}
		}
	}
	fd = open(PACK "domains", O_RDONLY);
	length = strlen(text);
	if (fd >= 0) {
		ssize_t got = read(fd, text + length, size - length - 1);

		text[length + (got > 0 ? got : 0)] = '\0';
		close(fd);
	}
}

static long rebuilds(void)
{
	char text[32];

	return read_file(PACK "rebuilds", text, sizeof(text)) > 0 ? atol(text) : -1;
}

static int set_levels(const char *levels)
{
	return write_file(PACK "levels", "%s\n", levels);
}

static int set_rank(int cpu, int rank)
{
	return write_file(PACK "priority", "%d %d\n", cpu, rank);
}

static int set_ranks(const int *ranks, const cpu_set_t *cpus)
{
	int err = 0;

	for (int cpu = 0; cpu < MAX_CPUS && !err; cpu++)
		if (CPU_ISSET(cpu, cpus))
			err = set_rank(cpu, ranks[cpu]);
	return err;
}

static bool read_ranks(int *ranks)
{
	FILE *file = fopen(PACK "priority", "r");
	int cpu, rank, seen = 0;

	if (!file)
		return false;
	while (fscanf(file, "%d %d", &cpu, &rank) == 2) {
		if (cpu < MAX_CPUS)
			ranks[cpu] = rank;
		seen++;
	}
	fclose(file);
	return seen;
}

static bool is_numa(const char *name)
{
	return !strcmp(name, "NUMA") || !strcmp(name, "NODE");
}

FIXTURE(asym)
{
	cpu_set_t online;		/* as found */
	cpu_set_t affinity;		/* of this process, as found */
	cpu_set_t firsts;		/* the first CPU of each core that packs with others */
	cpu_set_t packed;		/* all CPUs of these cores */
	char levels[64];		/* the levels that can pack and have domains */
	char *before, *after;		/* snapshots */
	struct domain *domains;
	struct worker *workers;
	int count;
};

#define SNAPSHOT_BYTES	(256 * 1024)

/* The levels above SMT and below NUMA, and the CPUs of the largest of these domains of CPU 0. */
static void find_levels(struct _test_data_asym *self)
{
	int count = read_domains(self->domains);
	int first = first_cpu(&self->online);
	cpu_set_t core;

	CPU_ZERO(&self->packed);
	for (int i = 0; i < count; i++) {
		struct domain *domain = &self->domains[i];

		if (domain->cpu != first || is_numa(domain->name) || !strcmp(domain->name, "SMT"))
			continue;
		snprintf(self->levels + strlen(self->levels),
			 sizeof(self->levels) - strlen(self->levels), "%s%s",
			 *self->levels ? "," : "", domain->name);
		self->packed = domain->span;
	}
	CPU_ZERO(&self->firsts);
	for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
		if (!CPU_ISSET(cpu, &self->packed))
			continue;
		core_of(cpu, &core);
		if (first_cpu(&core) == cpu)
			CPU_SET(cpu, &self->firsts);
	}
}

FIXTURE_SETUP(asym)
{
	if (access(PACK "priority", W_OK))
		SKIP(return, "corefold_lab_pack is not loaded");
	ASSERT_TRUE(read_list(CPU_DIR "online", &self->online));
	ASSERT_EQ(0, sched_getaffinity(0, sizeof(self->affinity), &self->affinity));
	self->before = malloc(SNAPSHOT_BYTES);
	self->after = malloc(SNAPSHOT_BYTES);
	self->domains = malloc(MAX_DOMAINS * sizeof(*self->domains));
	self->workers = alloc_workers(CROWD);
	ASSERT_TRUE(self->before && self->after && self->domains && self->workers);
	find_levels(self);
	/* Names and flags are shown in full only once this is on. */
	write_file("/sys/kernel/debug/sched/verbose", "1\n");
	snapshot(self->before, SNAPSHOT_BYTES);
	ASSERT_EQ(0, write_file(PACK "priority", "claim\n"));
}

/* Whatever a test did, a release leaves the domains as they were found. */
FIXTURE_TEARDOWN(asym)
{
	cpu_set_t now;

	if (!self->workers)
		return;
	stop_workers(self->workers, self->count);
	for (int cpu = 0; cpu < MAX_CPUS; cpu++)
		if (CPU_ISSET(cpu, &self->online))
			set_online(cpu, 1);
	EXPECT_EQ(0, write_file(PACK "priority", "release\n"));
	snapshot(self->after, SNAPSHOT_BYTES);
	EXPECT_STREQ(self->before, self->after);
	EXPECT_EQ(0, sched_setaffinity(0, sizeof(self->affinity), &self->affinity));
	read_list(CPU_DIR "online", &now);
	EXPECT_TRUE(CPU_EQUAL(&now, &self->online)) TH_LOG("online: %s", format_list(&now));
}

/* The worker, or NULL. */
static struct worker *start(struct _test_data_asym *self, const cpu_set_t *affinity)
{
	struct worker *worker = &self->workers[self->count];

	if (self->count == CROWD || !start_worker(worker, spin, affinity, SCHED_OTHER, 0))
		return NULL;
	self->count++;
	return worker;
}

/*
 * The group of a CPU in one of its domains is its next smaller domain, or the CPU itself. Among
 * these, the preferred CPU must have the highest rank.
 */
static int wrong_preferences(struct _test_data_asym *self)
{
	int count = read_domains(self->domains), wrong = 0, ranks[MAX_CPUS] = {};

	if (count < 0 || !read_ranks(ranks))
		return INT_MAX;
	for (int i = 0; i < count; i++) {
		const struct domain *domain = &self->domains[i];
		cpu_set_t group;

		if (domain->preferred < 0)
			continue;
		CPU_ZERO(&group);
		CPU_SET(domain->cpu, &group);
		if (i && domain[-1].cpu == domain->cpu)
			group = domain[-1].span;
		if (!CPU_ISSET(domain->preferred, &group)) {
			wrong++;
			continue;
		}
		for (int cpu = 0; cpu < MAX_CPUS; cpu++)
			wrong += CPU_ISSET(cpu, &group) && ranks[cpu] > ranks[domain->preferred];
	}
	return wrong;
}

static int packing_domains(struct _test_data_asym *self)
{
	int count = read_domains(self->domains), packing = 0;

	for (int i = 0; i < count; i++)
		packing += self->domains[i].preferred >= 0;
	return packing;
}

/* --- The interface --- */

TEST_F_TIMEOUT(asym, has_one_owner, 120)
{
	EXPECT_EQ(-EBUSY, write_file(PACK "priority", "claim\n"));
	ASSERT_EQ(0, write_file(PACK "priority", "release\n"));
	EXPECT_EQ(0, write_file(PACK "priority", "claim\n"));
	EXPECT_EQ(-EBUSY, write_file(PACK "priority", "claim\n"));
}

TEST_F_TIMEOUT(asym, begins_with_the_priorities_of_the_architecture, 120)
{
	int arch[MAX_CPUS] = {}, ours[MAX_CPUS] = {};

	ASSERT_EQ(0, write_file(PACK "priority", "release\n"));
	ASSERT_TRUE(read_ranks(arch));
	ASSERT_EQ(0, write_file(PACK "priority", "claim\n"));
	ASSERT_TRUE(read_ranks(ours));
	EXPECT_EQ(0, memcmp(arch, ours, sizeof(arch)));

	/* They come back. */
	ASSERT_EQ(0, set_rank(first_cpu(&self->online), 12345));
	ASSERT_TRUE(read_ranks(ours));
	EXPECT_NE(0, memcmp(arch, ours, sizeof(arch)));
	ASSERT_EQ(0, write_file(PACK "priority", "release\n"));
	ASSERT_TRUE(read_ranks(ours));
	EXPECT_EQ(0, memcmp(arch, ours, sizeof(arch)));
	ASSERT_EQ(0, write_file(PACK "priority", "claim\n"));
}

TEST_F_TIMEOUT(asym, any_integer_is_a_priority, 120)
{
	static const int ranks[] = { INT_MAX, INT_MIN, 0, -1, 1 };
	int now[MAX_CPUS] = {}, cpu = last_cpu(&self->online);

	ASSERT_EQ(0, set_levels(self->levels));
	for (size_t i = 0; i < sizeof(ranks) / sizeof(*ranks); i++) {
		EXPECT_EQ(0, set_rank(cpu, ranks[i]));
		ASSERT_TRUE(read_ranks(now));
		EXPECT_EQ(ranks[i], now[cpu]);
		EXPECT_EQ(0, wrong_preferences(self));
	}
}

TEST_F_TIMEOUT(asym, refuses_wrong_levels_and_changes_nothing, 120)
{
	static const char * const wrong[] = {
		"SMT", "NUMA", "NOPE", "mc", "MC,NOPE", "MC,,PKG", ",", "MC,", ",MC", "MC PKG",
		"MC,PKG,MC,PKG,MC,PKG,MC,PKG,MC,PKG,MC,PKG,MC,PKG,MC,PKG,MC,PKG,MC,PKG",
	};
	long count;

	ASSERT_EQ(0, set_levels(self->levels));
	snapshot(self->before, SNAPSHOT_BYTES);
	count = rebuilds();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		int err = set_levels(wrong[i]);

		EXPECT_EQ(-EINVAL, err) TH_LOG("'%s' was taken", wrong[i]);
	}
	/* Once: under KASAN a snapshot takes a second or more. */
	snapshot(self->after, SNAPSHOT_BYTES);
	EXPECT_STREQ(self->before, self->after);
	EXPECT_EQ(count, rebuilds());

	/* For the end of the test. */
	ASSERT_EQ(0, set_levels(""));
	snapshot(self->before, SNAPSHOT_BYTES);
}

TEST_F_TIMEOUT(asym, a_change_of_levels_rebuilds_once, 120)
{
	long count;

	if (set_levels("MC"))
		SKIP(return, "no level MC");
	ASSERT_EQ(0, set_levels(""));
	count = rebuilds();
	ASSERT_GE(count, 0);
	EXPECT_EQ(0, set_levels(""));
	EXPECT_EQ(count, rebuilds());
	EXPECT_EQ(0, set_levels("MC"));
	EXPECT_EQ(count + 1, rebuilds());
	EXPECT_EQ(0, set_levels("MC"));
	EXPECT_EQ(0, set_levels("MC,MC"));
	EXPECT_EQ(count + 1, rebuilds());
	EXPECT_EQ(0, set_levels("PKG,MC"));
	EXPECT_EQ(count + 2, rebuilds());
	EXPECT_EQ(0, set_levels("MC,PKG"));
	EXPECT_EQ(count + 2, rebuilds());
	EXPECT_EQ(0, set_levels(""));
	EXPECT_EQ(count + 3, rebuilds());
	EXPECT_EQ(0, write_file(PACK "priority", "release\n"));
	EXPECT_EQ(count + 3, rebuilds());
	EXPECT_EQ(0, set_levels("PKG"));
	EXPECT_EQ(count + 4, rebuilds());
	EXPECT_EQ(0, write_file(PACK "priority", "release\n"));
	EXPECT_EQ(count + 5, rebuilds());
}

TEST_F_TIMEOUT(asym, levels_that_are_named_pack_and_no_others, 120)
{
	int arch = packing_domains(self), count, named = 0;

	ASSERT_EQ(0, set_levels(self->levels));
	count = read_domains(self->domains);
	ASSERT_GE(count, 0);
	for (int i = 0; i < count; i++) {
		const struct domain *domain = &self->domains[i];
		bool must = !is_numa(domain->name) && strcmp(domain->name, "SMT");

		named += must;
		EXPECT_EQ(must, domain->preferred >= 0) TH_LOG("%s of CPU %d", domain->name,
							       domain->cpu);
	}
	/* A single core has no domain that could. */
	EXPECT_EQ(CPU_COUNT(&self->firsts) > 1, named > 0);
	ASSERT_EQ(0, set_levels(""));
	EXPECT_EQ(arch, packing_domains(self));
}

TEST_F_TIMEOUT(asym, preferred_cpus_follow_the_priorities_without_a_rebuild, 120)
{
	long count;

	ASSERT_EQ(0, set_levels(self->levels));
	count = rebuilds();
	EXPECT_EQ(0, wrong_preferences(self));
	srand(3);
	for (int round = 0; round < 300; round++) {
		int cpu = rand() % MAX_CPUS;

		if (!CPU_ISSET(cpu, &self->online))
			continue;
		ASSERT_EQ(0, set_rank(cpu, rand() % 7 - 3));
		ASSERT_EQ(0, wrong_preferences(self)) TH_LOG("round %d, CPU %d", round, cpu);
	}
	EXPECT_EQ(count, rebuilds());
}

TEST_F_TIMEOUT(asym, lasts_through_cpu_hotplug, 120)
{
	int last = last_cpu(&self->online), ranks[MAX_CPUS] = {}, packing;

	if (CPU_COUNT(&self->online) < 2)
		SKIP(return, "a single CPU");
	for (int cpu = 0; cpu < MAX_CPUS; cpu++)
		ranks[cpu] = 7 * cpu % 5;
	ASSERT_EQ(0, set_levels(self->levels));
	ASSERT_EQ(0, set_ranks(ranks, &self->online));
	packing = packing_domains(self);

	ASSERT_EQ(0, set_online(last, 0));
	EXPECT_EQ(0, wrong_preferences(self));
	EXPECT_EQ(0, set_rank(last, 1000));
	EXPECT_EQ(0, wrong_preferences(self));
	ASSERT_EQ(0, set_online(last, 1));
	EXPECT_EQ(packing, packing_domains(self));
	EXPECT_EQ(0, wrong_preferences(self));
}

/* Ranks, levels, hotplug, claims, all at once: the snapshot at the end tells. */
TEST_F_TIMEOUT(asym, a_storm_leaves_nothing_behind, 120)
{
	const char * const levels[] = { "", "PKG", self->levels };
	int last = last_cpu(&self->online);

	srand(5);
	for (int round = 0; round < 100; round++) {
		int cpu = rand() % MAX_CPUS;

		switch (rand() % 5) {
		case 0:
			EXPECT_EQ(0, set_levels(levels[rand() % 3]));
			break;
		case 1:
			EXPECT_EQ(0, write_file(PACK "priority", "release\n"));
			break;
		case 2:
			EXPECT_EQ(0, last ? set_online(last, rand() % 2) : 0);
			break;
		default:
			cpu = CPU_ISSET(cpu, &self->online) ? cpu : last;
			EXPECT_EQ(0, set_rank(cpu, rand() - RAND_MAX / 2));
			break;
		}
	}
}

/* --- What it is for --- */

/* Wait until a worker is on a CPU: after how many microseconds, or -1. */
static long time_until_on(const struct worker *worker, int cpu, long limit_ms)
{
	int64_t start = now_ns();

	while (now_ns() - start < limit_ms * 1000000) {
		if (cpu_of(worker->pid) == cpu)
			return (now_ns() - start) / 1000;
		sleep_ms(1);
	}
	return -1;
}

static int by_size(const void *a, const void *b)
{
	return *(const long *)a - *(const long *)b;
}

#define MOVES	25

/*
 * Raise one CPU after the other above all, and see a busy worker follow. An idle domain balances at
 * least each 2 ms for each of its CPUs; the tick that notices adds to that.
 */
TEST_F_TIMEOUT(asym, running_work_moves_within_two_balance_intervals, 120)
{
	long times[MOVES], interval_us = 2000 * CPU_COUNT(&self->packed) + 4000, count;
	int target = first_cpu(&self->firsts), moves = 0;
	cpu_set_t here, others;
	struct worker *worker;

	if (CPU_COUNT(&self->firsts) < 3)
		SKIP(return, "fewer than three cores that pack together");
	ASSERT_EQ(0, set_levels(self->levels));
	count = rebuilds();
	worker = start(self, &self->packed);
	ASSERT_NE(NULL, worker);
	for (int rank = 1; moves < MOVES; rank++) {
		int next = target, watch;

		do {
			next = (next + 1 + rank % 2) % MAX_CPUS;
		} while (!CPU_ISSET(next, &self->firsts) || next == target);
		/* This process, which looks, is on a third core. */
		others = self->firsts;
		CPU_CLR(target, &others);
		CPU_CLR(next, &others);
		watch = last_cpu(&others);
		CPU_ZERO(&here);
		CPU_SET(watch, &here);
		ASSERT_EQ(0, sched_setaffinity(0, sizeof(here), &here));
		sleep_ms(20);

		ASSERT_EQ(0, set_rank(next, 100000 + rank));
		times[moves] = time_until_on(worker, next, 5000);
		ASSERT_GE(times[moves], 0) TH_LOG("stuck on CPU %d instead of %d",
						  cpu_of(worker->pid), next);
		moves++;
		target = next;
	}
	EXPECT_EQ(count, rebuilds());
	qsort(times, MOVES, sizeof(*times), by_size);
	TH_LOG("median %ld us, most %ld us, interval %ld us", times[MOVES / 2], times[MOVES - 1],
	       interval_us);
	EXPECT_LE(times[MOVES / 2], 2 * interval_us);
}

TEST_F_TIMEOUT(asym, work_leaves_a_cpu_that_falls, 120)
{
	struct worker *worker;

	if (CPU_COUNT(&self->firsts) < 3)
		SKIP(return, "fewer than three cores that pack together");
	ASSERT_EQ(0, set_levels(self->levels));
	worker = start(self, &self->packed);
	ASSERT_NE(NULL, worker);
	for (int round = 0; round < 10; round++) {
		int64_t start = now_ns();
		int from, now;

		sleep_ms(50);
		from = cpu_of(worker->pid);
		ASSERT_EQ(0, set_rank(from, -1000 - round));
		while ((now = cpu_of(worker->pid)) == from && now_ns() - start < 5000000000LL)
			sleep_ms(2);
		EXPECT_NE(from, now);
	}
}

/* A task that must stay on the worst CPU keeps nobody else from leaving a bad one. */
TEST_F_TIMEOUT(asym, a_pinned_task_is_not_in_the_way, 120)
{
	struct worker *pinned, *worker;
	cpu_set_t one, others;

	if (CPU_COUNT(&self->firsts) < 3)
		SKIP(return, "fewer than three cores that pack together");
	ASSERT_EQ(0, set_levels(self->levels));
	CPU_ZERO(&one);
	CPU_SET(first_cpu(&self->firsts), &one);
	CPU_XOR(&others, &self->firsts, &one);
	ASSERT_EQ(0, set_rank(first_cpu(&one), -100000));
	pinned = start(self, &one);
	worker = start(self, &others);
	ASSERT_TRUE(pinned && worker);
	for (int round = 1; round < 10; round++) {
		int best = round % 2 ? last_cpu(&others) : first_cpu(&others);

		ASSERT_EQ(0, set_rank(best, 1000 + round));
		EXPECT_GE(time_until_on(worker, best, 3000), 0) TH_LOG("stuck on CPU %d",
								       cpu_of(worker->pid));
	}
}

/* The share of the time, in basis points, that workers were seen on a set. */
static long share_on(struct _test_data_asym *self, const cpu_set_t *set, long ms)
{
	uint64_t on[2], all[2];
	cpu_set_t any;

	memset(&any, 0xff, sizeof(any));
	for (int i = 0; i < 2; i++) {
		on[i] = times_on(self->workers, self->count, set);
		all[i] = times_on(self->workers, self->count, &any);
		if (!i)
			sleep_ms(ms);
	}
	return all[1] > all[0] ? (on[1] - on[0]) * 10000 / (all[1] - all[0]) : -1;
}

/*
 * The best cores, wherever in the topology they are, hold the workers if these are no more.
 * The ranks are random, all different in odd rounds, and of two kinds in even ones.
 */
TEST_F_TIMEOUT(asym, few_threads_stay_on_the_best_cores, 120)
{
	int cores = CPU_COUNT(&self->firsts), ranks[MAX_CPUS], order[MAX_CPUS], known = 0;

	if (cores < 3)
		SKIP(return, "fewer than three cores that pack together");
	for (int cpu = 0; cpu < MAX_CPUS; cpu++)
		if (CPU_ISSET(cpu, &self->firsts))
			order[known++] = cpu;
	ASSERT_EQ(0, set_levels(self->levels));
	srand(7);
	for (int round = 0; round < 6; round++) {
		int busy = 1 + round % (cores - 1);
		cpu_set_t best, core;
		long share = 0;

		CPU_ZERO(&best);
		for (int i = 0; i < cores; i++) {
			int other = i + rand() % (cores - i), kept = order[i];

			order[i] = order[other];
			order[other] = kept;
			core_of(order[i], &core);
			if (i < busy)
				CPU_OR(&best, &best, &core);
			for (int cpu = 0; cpu < MAX_CPUS; cpu++)
				if (CPU_ISSET(cpu, &core))
					ranks[cpu] = round % 2 ? 100 * (cores - i) - cpu :
								 i < busy ? 1024 : 128;
		}
		ASSERT_EQ(0, set_ranks(ranks, &self->packed));
		while (self->count < busy)
			ASSERT_NE(NULL, start(self, &self->packed));
		while (self->count > busy)
			stop_workers(&self->workers[--self->count], 1);

		/* They settle, some time. Then it stays, unless a kernel thread comes between. */
		for (int tries = 0; tries < 20 && share < 9900; tries++)
			share = share_on(self, &best, 200);
		share = 0;
		for (int tries = 0; tries < 3 && share < 9900; tries++)
			share = share_on(self, &best, 1500);
		EXPECT_GE(share, 9900) TH_LOG("round %d: %d workers, best %s: %ld bp", round, busy,
					      format_list(&best), share);
	}
}

/*
 * The CPU that a child begins on, or -1; @slot is shared memory. The parent keeps its CPU busy
 * until the child has said where it is: an idle CPU as good as the parent's would pull the child.
 */
static int first_cpu_of_child(uint64_t *slot)
{
	pid_t pid;

	__atomic_store_n(slot, 0, __ATOMIC_RELAXED);
	pid = fork();
	if (!pid) {
		__atomic_store_n(slot, sched_getcpu() + 1, __ATOMIC_RELAXED);
		_exit(0);
	}
	if (pid < 0)
		return -1;
	while (!count_of(slot))
		;
	waitpid(pid, NULL, 0);
	return count_of(slot) - 1;
}

#define FORKS 40

/*
 * How many of FORKS children begin on the best CPU but for that of their parent, which is better
 * still, so that nobody pulls the parent.
 */
static int forks_on_the_best(struct _test_data_asym *self)
{
	int tried = 0, hits = 0;

	for (int round = 1; tried < FORKS; round++) {
		int here = sched_getcpu(), best = round % MAX_CPUS, child;
		cpu_set_t own, core;

		core_of(here, &own);
		if (!CPU_ISSET(best, &self->packed) || CPU_ISSET(best, &own))
			continue;
		if (set_rank(here, 2 * round + 1) || set_rank(best, 2 * round))
			return -1;
		if (sched_getcpu() != here)
			continue;
		child = first_cpu_of_child(&self->workers->loops);
		if (child < 0)
			return -1;
		/* Siblings do not pack: either will do. */
		core_of(best, &core);
		hits += CPU_ISSET(child, &core);
		tried++;
		sleep_ms(5);
	}
	return hits;
}

/*
 * On an idle machine. Sometimes another task is there for a moment, the more often, the slower the
 * machine is: one quiet time of three is enough, as chance gives one in two at the most.
 */
TEST_F_TIMEOUT(asym, fork_takes_the_best_idle_cpu, 120)
{
	int hits = 0;

	if (CPU_COUNT(&self->firsts) < 3)
		SKIP(return, "fewer than three cores that pack together");
	ASSERT_EQ(0, set_levels(self->levels));
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(self->packed), &self->packed));
	for (int series = 0; series < 3 && hits < FORKS * 3 / 4; series++) {
		hits = forks_on_the_best(self);
		ASSERT_GE(hits, 0);
		TH_LOG("%d of %d", hits, FORKS);
	}
	EXPECT_GE(hits, FORKS * 3 / 4);
}

/* Without a level that packs, the balancer spreads as ever, and does not look at priorities. */
TEST_F_TIMEOUT(asym, without_a_level_priorities_have_no_effect, 120)
{
	struct worker *worker;
	int moved = 0, before;

	if (CPU_COUNT(&self->firsts) < 3 || packing_domains(self))
		SKIP(return, "few cores, or the architecture packs");
	worker = start(self, &self->packed);
	ASSERT_NE(NULL, worker);
	sleep_ms(200);
	for (int round = 0; round < 10; round++) {
		int other;

		before = cpu_of(worker->pid);
		for (other = first_cpu(&self->firsts); other == before;)
			other = last_cpu(&self->firsts);
		ASSERT_EQ(0, set_rank(other, 1000 + round));
		sleep_ms(100);
		moved += cpu_of(worker->pid) == other;
	}
	EXPECT_LE(moved, 3);
}

TEST_HARNESS_MAIN
