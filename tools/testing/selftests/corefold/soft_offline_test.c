// SPDX-License-Identifier: GPL-2.0
/*
 * Soft offline, driven directly: corefold_lab claims it and sets any mask that is written to its
 * file. The last core is the one that most tests fold.
 */
#include <dirent.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "kselftest_harness.h"
#include "util.h"

#define MASK_FILE	CPU_DIR "soft_offline"
#define CGROUP		"/sys/fs/cgroup/"
#define CROWD		24

static void mask_now(cpu_set_t *mask)
{
	read_list(MASK_FILE, mask);
}

static int fold(const cpu_set_t *mask)
{
	return write_file(LAB "soft_offline", "%s\n", format_list(mask));
}

static int fold_text(const char *text)
{
	return write_file(LAB "soft_offline", "%s\n", text);
}

static int unfold(void)
{
	return fold_text("");
}

static unsigned long shrinks(void)
{
	char text[32];

	return read_file(LAB "shrinks", text, sizeof(text)) > 0 ? strtoul(text, NULL, 10) : 0;
}

/* Whether the mask holds only online CPUs, only whole cores, and not all CPUs. */
static bool mask_is_sound(void)
{
	cpu_set_t mask, online, core, both;

	read_list(CPU_DIR "online", &online);
	mask_now(&mask);
	CPU_AND(&both, &mask, &online);
	if (!CPU_EQUAL(&both, &mask) || CPU_EQUAL(&mask, &online))
		return false;
	for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
		if (!CPU_ISSET(cpu, &mask))
			continue;
		core_of(cpu, &core);
		CPU_AND(&both, &core, &mask);
		if (!CPU_EQUAL(&both, &core))
			return false;
	}
	return true;
}

FIXTURE(fold)
{
	cpu_set_t online;	/* as found */
	cpu_set_t affinity;	/* of this process, as found */
	cpu_set_t core;		/* the last core */
	cpu_set_t other;	/* the core before it */
	cpu_set_t rest;		/* all but the last core */
	struct worker *workers;
	int count;
	bool partition;
};

FIXTURE_SETUP(fold)
{
	cpu_set_t before;

	if (access(LAB "soft_offline", W_OK))
		SKIP(return, "corefold_lab is not loaded");
	ASSERT_TRUE(read_list(CPU_DIR "online", &self->online));
	ASSERT_EQ(0, sched_getaffinity(0, sizeof(self->affinity), &self->affinity));
	core_of(last_cpu(&self->online), &self->core);
	CPU_XOR(&self->rest, &self->online, &self->core);
	if (!CPU_COUNT(&self->rest))
		SKIP(return, "a single core");
	core_of(last_cpu(&self->rest), &self->other);
	mask_now(&before);
	ASSERT_EQ(0, CPU_COUNT(&before));
	self->workers = alloc_workers(CROWD);
	ASSERT_NE(NULL, self->workers);
}

FIXTURE_TEARDOWN(fold)
{
	cpu_set_t now;

	if (!self->workers)
		return;
	stop_workers(self->workers, self->count);
	if (self->partition)
		rmdir(CGROUP "corefold-test");
	EXPECT_EQ(0, fold_text("release"));
	mask_now(&now);
	EXPECT_EQ(0, CPU_COUNT(&now)) TH_LOG("left folded: %s", format_list(&now));
	for (int cpu = 0; cpu < MAX_CPUS; cpu++)
		if (CPU_ISSET(cpu, &self->online))
			set_online(cpu, 1);
	read_list(CPU_DIR "online", &now);
	EXPECT_TRUE(CPU_EQUAL(&now, &self->online)) TH_LOG("online: %s", format_list(&now));
	sched_getaffinity(0, sizeof(now), &now);
	EXPECT_TRUE(CPU_EQUAL(&now, &self->affinity)) TH_LOG("affinity: %s", format_list(&now));
}

static bool start(struct _test_data_fold *self, void (*run)(struct worker *),
		  const cpu_set_t *affinity, int policy, int priority)
{
	return self->count < CROWD &&
	       start_worker(&self->workers[self->count++], run, affinity, policy, priority);
}

static bool start_many(struct _test_data_fold *self, int count, void (*run)(struct worker *),
		       const cpu_set_t *affinity)
{
	while (count--)
		if (!start(self, run, affinity, SCHED_OTHER, 0))
			return false;
	return true;
}

static void widen(struct _test_data_fold *self)
{
	for (int i = 0; i < self->count; i++)
		sched_setaffinity(self->workers[i].pid, sizeof(self->affinity), &self->affinity);
}

/* Wait until all workers were seen to run. */
static bool all_run(struct _test_data_fold *self)
{
	for (int tries = 0; tries < 200; tries++) {
		int running = 0;

		for (int i = 0; i < self->count; i++)
			running += count_of(&self->workers[i].loops) > 0;
		if (running == self->count)
			return true;
		sleep_ms(50);
	}
	return false;
}

/* Wait until no worker is on the set. */
static bool all_gone(struct _test_data_fold *self, const cpu_set_t *set)
{
	for (int tries = 0; tries < 100; tries++) {
		if (!workers_on(self->workers, self->count, set))
			return true;
		sleep_ms(20);
	}
	return false;
}

static bool is_alive(const struct worker *worker)
{
	uint64_t loops = count_of(&worker->loops);

	for (int tries = 0; tries < 100; tries++) {
		if (count_of(&worker->loops) > loops)
			return true;
		sleep_ms(20);
	}
	return false;
}

/*
 * How often workers come to a set in half a second. One that was moved after it looked where it
 * is counts that once more, as soon as it runs again.
 */
static uint64_t visits(struct _test_data_fold *self, const cpu_set_t *set)
{
	uint64_t before;

	for (int i = 0; i < self->count; i++)
		is_alive(&self->workers[i]);
	before = times_on(self->workers, self->count, set);
	sleep_ms(500);
	return times_on(self->workers, self->count, set) - before;
}

/* Wait until workers use the set. */
static bool comes_to(struct _test_data_fold *self, const cpu_set_t *set)
{
	uint64_t before = times_on(self->workers, self->count, set);

	for (int tries = 0; tries < 100; tries++) {
		if (times_on(self->workers, self->count, set) > before)
			return true;
		sleep_ms(50);
	}
	return false;
}

static long migrations(pid_t pid)
{
	char path[64], text[8192], *line;

	snprintf(path, sizeof(path), "/proc/%d/sched", pid);
	if (read_file(path, text, sizeof(text)) < 0)
		return -1;
	line = strstr(text, "nr_migrations_soft_offline");
	if (!line)
		return -1;
	line = strchr(line, ':');
	return line ? strtol(line + 1, NULL, 10) : -1;
}

TEST_F(fold, mask_is_shown_and_read_only)
{
	cpu_set_t mask;
	struct stat stat_;

	ASSERT_EQ(0, stat(MASK_FILE, &stat_));
	EXPECT_EQ(0444, stat_.st_mode & 0777);
	EXPECT_NE(0, write_file(MASK_FILE, "0\n"));
	ASSERT_EQ(0, fold(&self->core));
	mask_now(&mask);
	EXPECT_TRUE(CPU_EQUAL(&mask, &self->core)) TH_LOG("mask: %s", format_list(&mask));
	ASSERT_EQ(0, unfold());
	mask_now(&mask);
	EXPECT_EQ(0, CPU_COUNT(&mask));
}

TEST_F(fold, online_and_topology_stay)
{
	cpu_set_t now, core;

	ASSERT_EQ(0, fold(&self->core));
	ASSERT_TRUE(read_list(CPU_DIR "online", &now));
	EXPECT_TRUE(CPU_EQUAL(&now, &self->online));
	core_of(last_cpu(&self->core), &core);
	EXPECT_TRUE(CPU_EQUAL(&core, &self->core));
}

/* One running task per CPU: those of the core leave, stay away, and come back after the unfold. */
TEST_F_TIMEOUT(fold, running_tasks_leave_and_return, 60)
{
	ASSERT_TRUE(start_many(self, 2 * CPU_COUNT(&self->online), spin, NULL));
	ASSERT_TRUE(all_run(self));
	ASSERT_TRUE(comes_to(self, &self->core));
	ASSERT_EQ(0, fold(&self->core));
	EXPECT_TRUE(all_gone(self, &self->core));
	EXPECT_EQ(0, visits(self, &self->core));
	ASSERT_EQ(0, unfold());
	EXPECT_TRUE(comes_to(self, &self->core));
}

/* A crowd that waits on one CPU, and may run anywhere. */
TEST_F_TIMEOUT(fold, queued_tasks_leave, 60)
{
	cpu_set_t last;
	int crowded;

	CPU_ZERO(&last);
	CPU_SET(last_cpu(&self->core), &last);
	ASSERT_TRUE(start_many(self, CROWD, spin, &last));
	ASSERT_TRUE(all_run(self));
	ASSERT_EQ(CROWD, workers_on(self->workers, self->count, &last));
	widen(self);
	crowded = workers_on(self->workers, self->count, &last);
	ASSERT_EQ(0, fold(&self->core));
	EXPECT_GT(crowded, 1);
	EXPECT_TRUE(all_gone(self, &self->core));
	EXPECT_EQ(0, visits(self, &self->core));
}

TEST_F_TIMEOUT(fold, migrations_are_counted, 60)
{
	long before = 0, after = 0;

	ASSERT_TRUE(start_many(self, 8, spin, &self->core));
	ASSERT_TRUE(all_run(self));
	for (int i = 0; i < self->count; i++) {
		long count = migrations(self->workers[i].pid);

		ASSERT_GE(count, 0) TH_LOG("no nr_migrations_soft_offline in /proc/PID/sched");
		before += count;
	}
	EXPECT_EQ(0, before);
	widen(self);
	ASSERT_EQ(0, fold(&self->core));
	EXPECT_TRUE(all_gone(self, &self->core));
	for (int i = 0; i < self->count; i++)
		after += migrations(self->workers[i].pid);
	EXPECT_GT(after, 0);
}

TEST_F_TIMEOUT(fold, pinned_tasks_stay_and_run, 60)
{
	cpu_set_t now, last;
	uint64_t loops;

	CPU_ZERO(&last);
	CPU_SET(last_cpu(&self->core), &last);
	ASSERT_TRUE(start(self, spin, &last, SCHED_OTHER, 0));
	ASSERT_TRUE(start(self, doze, &last, SCHED_OTHER, 0));
	ASSERT_TRUE(all_run(self));
	ASSERT_EQ(0, fold(&self->core));
	EXPECT_EQ(0, visits(self, &self->rest));
	for (int i = 0; i < self->count; i++) {
		loops = count_of(&self->workers[i].loops);
		sleep_ms(300);
		EXPECT_GT(count_of(&self->workers[i].loops), loops);
		ASSERT_EQ(0, sched_getaffinity(self->workers[i].pid, sizeof(now), &now));
		EXPECT_TRUE(CPU_EQUAL(&now, &last));
	}
}

/* A task whose whole affinity is folded is as good as pinned, though it may move within. */
TEST_F_TIMEOUT(fold, tasks_with_folded_affinity_stay, 60)
{
	ASSERT_TRUE(start_many(self, 4, spin, &self->core));
	ASSERT_TRUE(all_run(self));
	ASSERT_EQ(0, fold(&self->core));
	EXPECT_EQ(0, visits(self, &self->rest));
	EXPECT_GT(visits(self, &self->core), 0);
}

TEST_F_TIMEOUT(fold, setaffinity_to_folded_cpu, 60)
{
	cpu_set_t last;

	CPU_ZERO(&last);
	CPU_SET(last_cpu(&self->core), &last);
	ASSERT_TRUE(start_many(self, 3, spin, NULL));
	ASSERT_TRUE(start(self, doze, NULL, SCHED_OTHER, 0));
	ASSERT_TRUE(all_run(self));
	ASSERT_EQ(0, fold(&self->core));
	ASSERT_TRUE(all_gone(self, &self->core));
	for (int i = 0; i < self->count; i++)
		EXPECT_EQ(0, sched_setaffinity(self->workers[i].pid, sizeof(last), &last));
	EXPECT_TRUE(comes_to(self, &last));
	EXPECT_TRUE(all_gone(self, &self->rest));
	EXPECT_EQ(0, visits(self, &self->rest));
	widen(self);
	EXPECT_TRUE(all_gone(self, &self->core));
	EXPECT_EQ(0, visits(self, &self->core));

	/* The caller itself: it must be there on return. */
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(last), &last));
	EXPECT_EQ(last_cpu(&self->core), sched_getcpu());
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(self->affinity), &self->affinity));
}

/* Reading stat_refresh runs a work item on each CPU and waits for it. */
TEST_F_TIMEOUT(fold, per_cpu_kthreads_work, 60)
{
	char text[16];

	ASSERT_EQ(0, fold(&self->core));
	for (int i = 0; i < 5; i++)
		EXPECT_GE(read_file("/proc/sys/vm/stat_refresh", text, sizeof(text)), 0);
}

struct task_affinity {
	pid_t pid;
	cpu_set_t affinity;
};

/* The affinity of all tasks but kworkers, which come and go. */
static int snapshot(struct task_affinity *tasks, int size)
{
	char path[300], name[64];
	struct dirent *entry;
	int count = 0;
	DIR *dir = opendir("/proc");

	while (dir && (entry = readdir(dir)) && count < size) {
		pid_t pid = atoi(entry->d_name);

		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		if (!pid || read_file(path, name, sizeof(name)) < 0 || !strncmp(name, "kworker", 7))
			continue;
		if (sched_getaffinity(pid, sizeof(cpu_set_t), &tasks[count].affinity))
			continue;
		tasks[count++].pid = pid;
	}
	if (dir)
		closedir(dir);
	return count;
}

TEST_F_TIMEOUT(fold, affinity_of_all_tasks_stays, 60)
{
	static struct task_affinity tasks[512];
	cpu_set_t now;
	int count;

	ASSERT_TRUE(start_many(self, 4, spin, NULL));
	ASSERT_TRUE(start_many(self, 2, spin, &self->core));
	ASSERT_TRUE(all_run(self));
	count = snapshot(tasks, 512);
	ASSERT_GT(count, 10);
	for (int round = 0; round < 2; round++) {
		ASSERT_EQ(0, round ? unfold() : fold(&self->core));
		sleep_ms(200);
		for (int i = 0; i < count; i++) {
			if (sched_getaffinity(tasks[i].pid, sizeof(now), &now))
				continue;
			EXPECT_TRUE(CPU_EQUAL(&now, &tasks[i].affinity))
				TH_LOG("task %d: %s", tasks[i].pid, format_list(&now));
		}
	}
}

/* How many of COUNT new children start on the set; with exec if a program is given. */
static int births_on(const cpu_set_t *set, int count, const char *program)
{
	int status, sum = 0;

	while (count--) {
		pid_t pid = fork();

		if (!pid) {
			if (program)
				execl(program, program, NULL);
			_exit(program ? MAX_CPUS : sched_getcpu());
		}
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    WEXITSTATUS(status) >= MAX_CPUS)
			return -1;
		sum += CPU_ISSET(WEXITSTATUS(status), set);
	}
	return sum;
}

static const char *where(void)
{
	static char path[300];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 8);

	path[length > 0 ? length : 0] = '\0';
	strcpy(strrchr(path, '/') + 1, "where");
	return path;
}

TEST_F_TIMEOUT(fold, forks_stay_away, 90)
{
	/* Busy elsewhere, so that the folded core would be the idlest choice. */
	ASSERT_TRUE(start_many(self, CPU_COUNT(&self->online), spin, NULL));
	ASSERT_TRUE(all_run(self));
	EXPECT_GT(births_on(&self->online, 10, NULL), 0);
	ASSERT_EQ(0, fold(&self->core));
	ASSERT_TRUE(all_gone(self, &self->core));
	EXPECT_EQ(0, births_on(&self->core, 100, NULL));
}

TEST_F_TIMEOUT(fold, execs_stay_away, 90)
{
	ASSERT_TRUE(start_many(self, CPU_COUNT(&self->online), spin, NULL));
	ASSERT_TRUE(all_run(self));
	ASSERT_EQ(0, fold(&self->core));
	ASSERT_TRUE(all_gone(self, &self->core));
	EXPECT_EQ(0, births_on(&self->core, 50, where()));
}

TEST_F_TIMEOUT(fold, wakeups_stay_away, 60)
{
	ASSERT_TRUE(start_many(self, CPU_COUNT(&self->rest), spin, NULL));
	ASSERT_TRUE(start_many(self, 8, doze, NULL));
	ASSERT_TRUE(all_run(self));
	ASSERT_EQ(0, fold(&self->core));
	EXPECT_TRUE(all_gone(self, &self->core));
	EXPECT_EQ(0, visits(self, &self->core));
	ASSERT_EQ(0, unfold());
	EXPECT_TRUE(comes_to(self, &self->core));
}

/* Nobody spins for the owner of a lock there. */
TEST_F_TIMEOUT(fold, counts_as_preempted, 60)
{
	cpu_set_t preempted;

	/* An idle CPU may count as preempted by itself. */
	ASSERT_TRUE(start_many(self, CPU_COUNT(&self->online), spin, NULL));
	ASSERT_TRUE(comes_to(self, &self->core));
	ASSERT_TRUE(read_list(LAB "preempted", &preempted));
	CPU_AND(&preempted, &preempted, &self->core);
	EXPECT_EQ(0, CPU_COUNT(&preempted));

	ASSERT_EQ(0, fold(&self->core));
	ASSERT_TRUE(read_list(LAB "preempted", &preempted));
	CPU_AND(&preempted, &preempted, &self->core);
	EXPECT_TRUE(CPU_EQUAL(&preempted, &self->core));
}

static void toggle(const cpu_set_t *core, const cpu_set_t *other, int rounds)
{
	cpu_set_t both;

	CPU_OR(&both, core, other);
	while (rounds--) {
		fold(core);
		sleep_ms(rounds % 7);
		fold(&both);
		sleep_ms(rounds % 5);
		fold(other);
		unfold();
	}
}

/* Forks, execs and wake-ups while the mask changes all the time: nothing is lost. */
TEST_F_TIMEOUT(fold, storm_while_folding, 120)
{
	int status, stuck = 0;
	pid_t pid;

	if (CPU_COUNT(&self->rest) == CPU_COUNT(&self->other))
		SKIP(return, "needs three cores");
	ASSERT_TRUE(start_many(self, 6, spin, NULL));
	ASSERT_TRUE(start_many(self, 6, doze, NULL));
	ASSERT_TRUE(all_run(self));
	pid = fork();
	if (!pid) {
		int made = births_on(&self->online, 150, NULL);

		_exit(made != 150 || births_on(&self->online, 50, where()) != 50);
	}
	do {
		toggle(&self->core, &self->other, 10);
	} while (!waitpid(pid, &status, WNOHANG));
	EXPECT_TRUE(WIFEXITED(status) && !WEXITSTATUS(status));
	for (int i = 0; i < self->count; i++)
		stuck += !is_alive(&self->workers[i]);
	EXPECT_EQ(0, stuck);
	ASSERT_EQ(0, fold(&self->core));
	EXPECT_TRUE(all_gone(self, &self->core));
	EXPECT_EQ(0, visits(self, &self->core));
}

/* Set the own affinity again and again: never outside of it on return. */
static void wander(struct worker *worker)
{
	cpu_set_t online, one;

	read_list(CPU_DIR "online", &online);
	for (int cpu = 0;; cpu = (cpu + 1) % MAX_CPUS) {
		if (!CPU_ISSET(cpu, &online))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one) || sched_getcpu() != cpu)
			_exit(1);
		count_up(&worker->loops);
		sched_setaffinity(0, sizeof(online), &online);
	}
}

TEST_F_TIMEOUT(fold, setaffinity_while_folding, 60)
{
	if (CPU_COUNT(&self->rest) == CPU_COUNT(&self->other))
		SKIP(return, "needs three cores");
	ASSERT_TRUE(start_many(self, 4, wander, NULL));
	ASSERT_TRUE(start_many(self, 4, spin, NULL));
	ASSERT_TRUE(all_run(self));
	for (int i = 0; i < 10; i++)
		toggle(&self->core, &self->other, 5);
	for (int i = 0; i < 4; i++) {
		EXPECT_EQ(0, waitpid(self->workers[i].pid, NULL, WNOHANG))
			TH_LOG("a task ran outside of its affinity");
	}
}

TEST_F_TIMEOUT(fold, rt_wakeups_choose_others, 60)
{
	cpu_set_t last;

	CPU_ZERO(&last);
	CPU_SET(last_cpu(&self->core), &last);
	for (int i = 0; i < 4; i++)
		ASSERT_TRUE(start(self, doze, NULL, SCHED_FIFO, 10 + i));
	ASSERT_TRUE(start_many(self, CPU_COUNT(&self->rest), spin, NULL));
	ASSERT_TRUE(all_run(self));
	ASSERT_EQ(0, fold(&self->core));
	EXPECT_TRUE(all_gone(self, &self->core));
	EXPECT_EQ(0, visits(self, &self->core));
}

TEST_F_TIMEOUT(fold, rt_pinned_stays, 60)
{
	cpu_set_t last;

	CPU_ZERO(&last);
	CPU_SET(last_cpu(&self->core), &last);
	ASSERT_TRUE(start(self, doze, &last, SCHED_FIFO, 10));
	ASSERT_TRUE(start(self, doze, &last, SCHED_RR, 10));
	ASSERT_TRUE(all_run(self));
	ASSERT_EQ(0, fold(&self->core));
	EXPECT_EQ(0, visits(self, &self->rest));
	EXPECT_GT(visits(self, &last), 0);
}

/* The first version of the kernel's struct sched_attr, which not every libc has. */
struct deadline_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static void deadline(struct worker *worker)
{
	struct deadline_attr attr = {
		.size = sizeof(attr),
		.policy = 6,	/* SCHED_DEADLINE */
		.runtime = 2000000,
		.deadline = 50000000,
		.period = 50000000,
	};

	if (syscall(SYS_sched_setattr, 0, &attr, 0))
		_exit(1);
	doze(worker);
}

/* Deadline tasks keep their admission and run, folded or not. */
TEST_F_TIMEOUT(fold, deadline_tasks_run, 60)
{
	ASSERT_TRUE(start(self, deadline, NULL, SCHED_OTHER, 0));
	ASSERT_TRUE(all_run(self));
	ASSERT_EQ(0, fold(&self->core));
	EXPECT_GT(visits(self, &self->online), 0);
	ASSERT_TRUE(start(self, deadline, NULL, SCHED_OTHER, 0));
	EXPECT_TRUE(all_run(self));
}

/* A refused mask changes nothing. */
static bool refused(const char *text, int error)
{
	cpu_set_t before, after;
	int ret;

	mask_now(&before);
	ret = fold_text(text);
	mask_now(&after);
	if (ret != -error)
		ksft_print_msg("mask '%s': got %d\n", text, ret);
	return ret == -error && CPU_EQUAL(&before, &after);
}

TEST_F(fold, bad_masks_are_refused)
{
	for (int round = 0; round < 2; round++) {
		EXPECT_TRUE(refused(format_list(&self->online), EINVAL));
		EXPECT_TRUE(refused("junk", EINVAL));
		EXPECT_NE(0, fold_text("100000"));
		if (CPU_COUNT(&self->core) > 1) {
			char part[16];

			snprintf(part, sizeof(part), "%d", last_cpu(&self->other));
			EXPECT_TRUE(refused(part, EINVAL));
			snprintf(part, sizeof(part), "%d", first_cpu(&self->other));
			EXPECT_TRUE(refused(part, EINVAL));
		}
		/* Once more, from a mask that is not empty. */
		ASSERT_EQ(0, fold(&self->core));
	}
}

TEST_F(fold, inactive_cpus_are_refused)
{
	cpu_set_t mask;

	for (int cpu = 1; cpu < MAX_CPUS; cpu++)
		if (CPU_ISSET(cpu, &self->core))
			ASSERT_EQ(0, set_online(cpu, 0));
	EXPECT_TRUE(refused(format_list(&self->core), EINVAL));
	mask_now(&mask);
	EXPECT_EQ(0, CPU_COUNT(&mask));
}

/* Down: the CPU leaves the mask. Up: it starts outside, and so does the rest of its core. */
TEST_F_TIMEOUT(fold, folded_cpu_goes_down_and_up, 60)
{
	int cpu = last_cpu(&self->core);
	cpu_set_t mask;

	ASSERT_TRUE(start_many(self, 8, spin, NULL));
	ASSERT_TRUE(all_run(self));
	ASSERT_EQ(0, fold(&self->core));
	ASSERT_EQ(0, set_online(cpu, 0));
	mask_now(&mask);
	EXPECT_FALSE(CPU_ISSET(cpu, &mask));
	EXPECT_EQ(CPU_COUNT(&self->core) - 1, CPU_COUNT(&mask));
	EXPECT_TRUE(mask_is_sound());
	ASSERT_EQ(0, set_online(cpu, 1));
	mask_now(&mask);
	EXPECT_EQ(0, CPU_COUNT(&mask)) TH_LOG("mask: %s", format_list(&mask));
	EXPECT_TRUE(mask_is_sound());
	EXPECT_TRUE(comes_to(self, &self->core));
	ASSERT_EQ(0, fold(&self->core));
	EXPECT_TRUE(all_gone(self, &self->core));
}

TEST_F_TIMEOUT(fold, sibling_of_folded_cpu_goes_down_and_up, 60)
{
	int first = first_cpu(&self->core), last = last_cpu(&self->core);
	cpu_set_t mask, rest;

	if (first == last)
		SKIP(return, "no SMT");
	/* Down before the fold: the core is what is left of it. */
	ASSERT_EQ(0, set_online(last, 0));
	rest = self->core;
	CPU_CLR(last, &rest);
	ASSERT_EQ(0, fold(&rest));
	EXPECT_TRUE(mask_is_sound());
	/* Up: a part of a core may not stay folded. */
	ASSERT_EQ(0, set_online(last, 1));
	mask_now(&mask);
	EXPECT_EQ(0, CPU_COUNT(&mask)) TH_LOG("mask: %s", format_list(&mask));
	EXPECT_GT(shrinks(), 0);
	/* Folded whole, then two of them, in turn. */
	for (int round = 0; round < 2; round++) {
		int cpu = round ? first : last;

		ASSERT_EQ(0, fold(&self->core));
		ASSERT_EQ(0, set_online(cpu, 0));
		EXPECT_TRUE(mask_is_sound());
		ASSERT_EQ(0, set_online(cpu, 1));
		EXPECT_TRUE(mask_is_sound());
	}
}

/* All that is not folded goes down: the kernel must give CPUs back. */
TEST_F_TIMEOUT(fold, last_usable_core_goes_down, 60)
{
	unsigned long before = shrinks();
	cpu_set_t most = self->online;
	cpu_set_t mask, online;

	for (int cpu = 0; cpu < MAX_CPUS; cpu++)
		if (CPU_ISSET(cpu, &self->core))
			CPU_CLR(cpu, &most);
	ASSERT_TRUE(start_many(self, 4, spin, NULL));
	ASSERT_TRUE(all_run(self));
	ASSERT_EQ(0, fold(&most));
	for (int cpu = 0; cpu < MAX_CPUS; cpu++)
		if (CPU_ISSET(cpu, &self->core))
			EXPECT_EQ(0, set_online(cpu, 0));
	read_list(CPU_DIR "online", &online);
	mask_now(&mask);
	EXPECT_FALSE(CPU_EQUAL(&mask, &online));
	EXPECT_TRUE(mask_is_sound()) TH_LOG("mask: %s", format_list(&mask));
	EXPECT_GT(shrinks(), before);
}

TEST_F_TIMEOUT(fold, hotplug_storm, 120)
{
	int cpu = last_cpu(&self->core);

	if (CPU_COUNT(&self->rest) == CPU_COUNT(&self->other))
		SKIP(return, "needs three cores");
	ASSERT_TRUE(start_many(self, 6, spin, NULL));
	ASSERT_TRUE(start_many(self, 4, doze, NULL));
	ASSERT_TRUE(start(self, spin, &self->core, SCHED_OTHER, 0));
	for (int round = 0; round < 6; round++) {
		fold(round % 2 ? &self->core : &self->other);
		set_online(cpu, 0);
		EXPECT_TRUE(mask_is_sound());
		fold(&self->other);
		set_online(cpu, 1);
		EXPECT_TRUE(mask_is_sound());
		unfold();
	}
}

/* Make a partition of a type ("root", "isolated", "member") from a list of CPUs. */
static int make_partition(struct _test_data_fold *self, const cpu_set_t *cpus,
			  const char *type)
{
	char text[64];
	int ret;

	write_file(CGROUP "cgroup.subtree_control", "+cpuset");
	if (mkdir(CGROUP "corefold-test", 0755) && errno != EEXIST)
		return -errno;
	self->partition = true;
	ret = write_file(CGROUP "corefold-test/cpuset.cpus", "%s", format_list(cpus));
	if (!ret)
		ret = write_file(CGROUP "corefold-test/cpuset.cpus.partition", type);
	if (ret)
		return ret;
	ret = read_file(CGROUP "corefold-test/cpuset.cpus.partition", text, sizeof(text));
	return ret < 0 ? ret : strcmp(text, type) ? -EINVAL : 0;
}

static int set_partition(const char *type)
{
	return write_file(CGROUP "corefold-test/cpuset.cpus.partition", type);
}

TEST_F_TIMEOUT(fold, partition_keeps_a_usable_cpu, 60)
{
	cpu_set_t mask, both;

	if (CPU_COUNT(&self->rest) == CPU_COUNT(&self->other))
		SKIP(return, "needs three cores");
	ASSERT_EQ(0, make_partition(self, &self->core, "root"));
	EXPECT_TRUE(refused(format_list(&self->core), EINVAL));
	EXPECT_TRUE(refused(format_list(&self->rest), EINVAL));
	ASSERT_EQ(0, fold(&self->other));
	mask_now(&mask);
	EXPECT_TRUE(CPU_EQUAL(&mask, &self->other));
	/* Both cores together, once the partition is gone. */
	ASSERT_EQ(0, set_partition("member"));
	CPU_OR(&both, &self->core, &self->other);
	EXPECT_EQ(0, fold(&both));
	EXPECT_TRUE(mask_is_sound());
}

TEST_F_TIMEOUT(fold, partition_made_of_folded_cpus, 60)
{
	unsigned long before = shrinks();
	cpu_set_t mask, two;

	if (CPU_COUNT(&self->rest) == CPU_COUNT(&self->other))
		SKIP(return, "needs three cores");
	ASSERT_TRUE(start_many(self, 6, spin, NULL));
	ASSERT_TRUE(all_run(self));
	ASSERT_EQ(0, fold(&self->core));
	ASSERT_EQ(0, make_partition(self, &self->core, "root"));
	mask_now(&mask);
	EXPECT_FALSE(intersects(&mask, &self->core)) TH_LOG("mask: %s", format_list(&mask));
	EXPECT_GT(shrinks(), before);
	/* The other side: the root is left with folded CPUs only. */
	ASSERT_EQ(0, set_partition("member"));
	two = self->rest;
	ASSERT_EQ(0, fold(&two));
	before = shrinks();
	ASSERT_EQ(0, make_partition(self, &self->core, "root"));
	mask_now(&mask);
	EXPECT_FALSE(CPU_EQUAL(&mask, &two));
	EXPECT_GT(shrinks(), before);
	ASSERT_EQ(0, set_partition("member"));
}

TEST_F_TIMEOUT(fold, isolated_partition_is_left_alone, 60)
{
	unsigned long before = shrinks();
	cpu_set_t mask, eligible;

	if (CPU_COUNT(&self->rest) == CPU_COUNT(&self->other))
		SKIP(return, "needs three cores");
	ASSERT_TRUE(start_many(self, 6, spin, NULL));
	ASSERT_EQ(0, fold(&self->core));
	ASSERT_EQ(0, make_partition(self, &self->core, "isolated"));
	mask_now(&mask);
	EXPECT_FALSE(intersects(&mask, &self->core));
	EXPECT_GT(shrinks(), before);
	ASSERT_TRUE(read_list(LAB "eligible", &eligible));
	EXPECT_FALSE(intersects(&eligible, &self->core));
	EXPECT_TRUE(refused(format_list(&self->core), EINVAL));
	ASSERT_EQ(0, fold(&self->other));
	ASSERT_EQ(0, set_partition("member"));
	ASSERT_TRUE(read_list(LAB "eligible", &eligible));
	EXPECT_TRUE(CPU_EQUAL(&eligible, &self->online));
	EXPECT_EQ(0, fold(&self->core));
}

TEST_F_TIMEOUT(fold, partition_storm, 120)
{
	static const char * const types[] = { "root", "isolated" };

	if (CPU_COUNT(&self->rest) == CPU_COUNT(&self->other))
		SKIP(return, "needs three cores");
	ASSERT_TRUE(start_many(self, 8, spin, NULL));
	for (int round = 0; round < 6; round++) {
		fold(round % 3 ? &self->core : &self->other);
		EXPECT_EQ(0, make_partition(self, &self->core, types[round % 2]));
		EXPECT_TRUE(mask_is_sound());
		fold(round % 3 ? &self->other : &self->core);
		EXPECT_EQ(0, set_partition("member"));
		EXPECT_TRUE(mask_is_sound());
	}
}

/* Domains are rebuilt while folded: capacities must not become asymmetric. */
TEST_F_TIMEOUT(fold, no_asym_capacity, 60)
{
	char path[128], flags[512];
	int found = 0;

	write_file("/sys/kernel/debug/sched/verbose", "Y");
	ASSERT_EQ(0, fold(&self->core));
	ASSERT_EQ(0, set_online(last_cpu(&self->rest), 0));
	for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
		for (int level = 0; level < 4; level++) {
			snprintf(path, sizeof(path),
				 "/sys/kernel/debug/sched/domains/cpu%d/domain%d/flags",
				 cpu, level);
			if (read_file(path, flags, sizeof(flags)) < 0)
				continue;
			found++;
			EXPECT_EQ(NULL, strstr(flags, "ASYM_CPUCAPACITY"));
		}
	}
	EXPECT_GT(found, 0);
}

/* What the machine says about the folded CPUs' time: they are idle though all others are busy. */
static long busy_ticks(const cpu_set_t *set)
{
	static char text[16384];
	char name[16], *line;
	long user, nice, sum = 0;

	read_file("/proc/stat", text, sizeof(text));
	for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
		if (!CPU_ISSET(cpu, set))
			continue;
		snprintf(name, sizeof(name), "\ncpu%d ", cpu);
		line = strstr(text, name);
		if (line && sscanf(line + strlen(name), "%ld %ld", &user, &nice) == 2)
			sum += user + nice;
	}
	return sum;
}

TEST_F_TIMEOUT(fold, folded_core_is_idle_under_load, 60)
{
	long before;

	ASSERT_TRUE(start_many(self, CROWD, spin, NULL));
	ASSERT_TRUE(all_run(self));
	ASSERT_EQ(0, fold(&self->core));
	ASSERT_TRUE(all_gone(self, &self->core));
	sleep_ms(200);
	before = busy_ticks(&self->core);
	sleep_ms(1000);
	EXPECT_LE(busy_ticks(&self->core) - before, 2);
	before = busy_ticks(&self->rest);
	sleep_ms(500);
	EXPECT_GT(busy_ticks(&self->rest) - before, 10);
}

TEST_HARNESS_MAIN
