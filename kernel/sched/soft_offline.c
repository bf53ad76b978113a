// SPDX-License-Identifier: GPL-2.0
/*
 * Soft offline: a set of CPUs that stay online and active, but that tasks leave
 * if they may run elsewhere.
 *
 * A guest whose virtual CPUs do not all get a real one does better with fewer
 * of them. Taking them offline for real is slow, rewrites affinities and
 * rebuilds domains. So this leaves a CPU where it is, and makes the scheduler
 * avoid it:
 *
 *  - a choice of CPU that falls on one of the set is corrected (wake-up, fork,
 *    exec, affinity);
 *  - the balancer neither pulls to it nor counts it;
 *  - whatever is queued there when it joins the set is moved, and the tick
 *    looks for late arrivals.
 *
 * A task that may run only there stays and runs. Nothing here changes an
 * affinity or fails because of one.
 *
 * The set is decided elsewhere and is plain data: nothing here calls out. See
 * Documentation/scheduler/sched-soft-offline.rst.
 *
 * Everything that is written here is written under sched_domains_mutex, with
 * CPU hotplug held off: cpus_read_lock(), then sched_domains_mutex, as
 * everywhere else.
 */

#include <linux/sched/isolation.h>
#include <linux/sched/soft_offline.h>

#include "sched.h"

/* How many CPUs a search looks at, if it finds no idle one close by. */
#define SOFT_OFFLINE_SCAN	16

struct cpumask __cpu_soft_offline_mask __read_mostly;
EXPORT_SYMBOL_GPL(__cpu_soft_offline_mask);

DEFINE_STATIC_KEY_FALSE(sched_soft_offline_used);
EXPORT_SYMBOL_GPL(sched_soft_offline_used);

static bool soft_offline_claimed;
static unsigned long soft_offline_nr_shrinks;

/* Scratch, so that nothing allocates. */
static struct cpumask soft_offline_next;
static struct cpumask soft_offline_active;
static struct cpumask soft_offline_usable;

/* === The rules === */

/* Is this CPU one that the balancer cares for? */
static bool soft_offline_balanced(int cpu)
{
	return cpu_rq(cpu)->rd != &def_root_domain && housekeeping_test_cpu(cpu, HK_TYPE_DOMAIN);
}

/*
 * Whether the core of @cpu can be soft offline, if @active are the active CPUs.
 */
static bool soft_offline_core_eligible(int cpu, const struct cpumask *active)
{
	int sibling;

	guard(rcu)();
	for_each_cpu_and(sibling, topology_sibling_cpumask(cpu), active) {
		if (!soft_offline_balanced(sibling))
			return false;
	}
	return true;
}

/*
 * These need a CPU to work with: who balances, and who does what others must
 * not be disturbed with.
 */
static bool soft_offline_housekeeping_has(enum hk_type type, const struct cpumask *usable)
{
	guard(rcu)();
	return cpumask_intersects(housekeeping_cpumask(type), usable);
}

static int soft_offline_housekeeping_first(enum hk_type type, const struct cpumask *mask)
{
	guard(rcu)();
	return cpumask_first_and(housekeeping_cpumask(type), mask);
}

static const enum hk_type soft_offline_housekeeping[] = { HK_TYPE_DOMAIN, HK_TYPE_KERNEL_NOISE };

static bool soft_offline_valid(const struct cpumask *mask)
{
	struct cpumask *usable = &soft_offline_usable;
	int cpu, i;

	if (cpumask_empty(mask))
		return true;
	if (!cpumask_subset(mask, cpu_active_mask))
		return false;

	cpumask_andnot(usable, cpu_active_mask, mask);
	for_each_cpu(cpu, mask) {
		if (!soft_offline_core_eligible(cpu, cpu_active_mask))
			return false;
		if (cpumask_intersects(topology_sibling_cpumask(cpu), usable))
			return false;
		if (!cpumask_intersects(cpu_rq(cpu)->rd->span, usable))
			return false;
	}
	for (i = 0; i < ARRAY_SIZE(soft_offline_housekeeping); i++) {
		if (!soft_offline_housekeeping_has(soft_offline_housekeeping[i], usable))
			return false;
	}
	return true;
}

/*
 * Take out of @mask, core by core, what the rules do not allow once @active are
 * the active CPUs.
 */
static void soft_offline_repair(struct cpumask *mask, const struct cpumask *active)
{
	struct cpumask *usable = &soft_offline_usable;
	int cpu, i;

	cpumask_andnot(usable, active, mask);
	for_each_cpu(cpu, mask) {
		if (cpumask_test_cpu(cpu, active) && soft_offline_core_eligible(cpu, active) &&
		    !cpumask_intersects(topology_sibling_cpumask(cpu), usable) &&
		    cpumask_intersects(cpu_rq(cpu)->rd->span, usable))
			continue;
		cpumask_andnot(mask, mask, topology_sibling_cpumask(cpu));
		cpumask_clear_cpu(cpu, mask);
		cpumask_andnot(usable, active, mask);
	}
	for (i = 0; i < ARRAY_SIZE(soft_offline_housekeeping); i++) {
		if (soft_offline_housekeeping_has(soft_offline_housekeeping[i], usable))
			continue;
		cpu = soft_offline_housekeeping_first(soft_offline_housekeeping[i], mask);
		if (cpu >= nr_cpu_ids)
			continue;
		cpumask_andnot(mask, mask, topology_sibling_cpumask(cpu));
		cpumask_andnot(usable, active, mask);
	}
}

/* === The set === */

/* Let the balancer know what a CPU is worth now. */
static void soft_offline_update_capacity(int cpu)
{
	struct sched_domain *sd;

	guard(rcu)();
	for_each_domain(cpu, sd)
		update_group_capacity(sd, cpu);
}

static void soft_offline_write(const struct cpumask *next)
{
	static struct cpumask changed;
	int cpu;

	lockdep_assert_cpus_held();
	lockdep_assert_held(&sched_domains_mutex);

	cpumask_xor(&changed, next, cpu_soft_offline_mask);
	if (cpumask_empty(&changed))
		return;

	if (!cpumask_empty(next))
		static_branch_enable_cpuslocked(&sched_soft_offline_used);
	for_each_cpu(cpu, &changed)
		assign_cpu(cpu, &__cpu_soft_offline_mask, cpumask_test_cpu(cpu, next));
	for_each_cpu(cpu, &changed)
		soft_offline_update_capacity(cpu);
	if (cpumask_empty(next))
		static_branch_disable_cpuslocked(&sched_soft_offline_used);
	sched_cache_guard_recheck();

	for_each_cpu_and(cpu, &changed, next)
		sched_soft_offline_evacuate(cpu);
}

/**
 * sched_soft_offline_claim() - become the one who decides which CPUs are soft
 * offline
 *
 * Return: 0, or -EBUSY if somebody else does.
 */
int sched_soft_offline_claim(void)
{
	guard(sched_domains)();

	if (soft_offline_claimed)
		return -EBUSY;
	soft_offline_claimed = true;
	return 0;
}
EXPORT_SYMBOL_GPL(sched_soft_offline_claim);

/**
 * sched_soft_offline_release() - use all CPUs again, and leave the decision to
 * others
 *
 * Only for who claimed it. May sleep; not for a CPU hotplug callback.
 */
void sched_soft_offline_release(void)
{
	guard(cpus_read_lock)();
	guard(sched_domains)();

	soft_offline_write(cpu_none_mask);
	soft_offline_claimed = false;
}
EXPORT_SYMBOL_GPL(sched_soft_offline_release);

/**
 * sched_soft_offline_set() - decide which CPUs are soft offline
 * @mask: all of them, in place of those before
 *
 * Tasks begin to leave at once, but this does not wait for them. May sleep; not
 * for a CPU hotplug callback.
 *
 * Return: 0; or with nothing changed, -EPERM if unclaimed, -EINVAL if @mask
 * contains a CPU that is not active or not balanced, contains some active
 * siblings of a core but not all, or leaves a root domain (that is, a cpuset
 * partition) or the housekeeping CPUs without a CPU.
 */
int sched_soft_offline_set(const struct cpumask *mask)
{
	guard(cpus_read_lock)();
	guard(sched_domains)();

	if (!soft_offline_claimed)
		return -EPERM;
	if (!soft_offline_valid(mask))
		return -EINVAL;

	soft_offline_write(mask);
	return 0;
}
EXPORT_SYMBOL_GPL(sched_soft_offline_set);

/**
 * sched_soft_offline_read() - which CPUs are soft offline
 * @mask: where to put them
 *
 * The kernel may have taken CPUs out of what sched_soft_offline_set() was
 * given.
 */
void sched_soft_offline_read(struct cpumask *mask)
{
	guard(sched_domains)();

	cpumask_copy(mask, cpu_soft_offline_mask);
}
EXPORT_SYMBOL_GPL(sched_soft_offline_read);

/**
 * sched_soft_offline_eligible() - which CPUs can be soft offline at all
 * @mask: where to put them
 *
 * These are the active CPUs that the scheduler balances: neither isolated ones
 * nor the siblings of such. Any of them may be soft offline, but not all of
 * them together. Not for a CPU hotplug callback.
 */
void sched_soft_offline_eligible(struct cpumask *mask)
{
	int cpu;

	guard(cpus_read_lock)();
	guard(sched_domains)();

	cpumask_clear(mask);
	for_each_cpu(cpu, cpu_active_mask) {
		if (soft_offline_core_eligible(cpu, cpu_active_mask))
			cpumask_set_cpu(cpu, mask);
	}
}
EXPORT_SYMBOL_GPL(sched_soft_offline_eligible);

/**
 * sched_soft_offline_domain() - which CPUs a CPU shares its root domain with
 * @cpu: a possible CPU
 * @mask: where to put the active ones, with @cpu itself
 *
 * Some of them must stay out of the set. Not for a CPU hotplug callback.
 */
void sched_soft_offline_domain(int cpu, struct cpumask *mask)
{
	guard(cpus_read_lock)();
	guard(sched_domains)();

	cpumask_and(mask, cpu_rq(cpu)->rd->span, cpu_active_mask);
}
EXPORT_SYMBOL_GPL(sched_soft_offline_domain);

/**
 * sched_soft_offline_shrinks() - how often the kernel had to take CPUs out of
 * the set by itself
 *
 * It does so if CPU hotplug, a cpuset partition or the housekeeping CPUs change
 * so that the set would break the rules of sched_soft_offline_set(). That a CPU
 * leaves the set because it goes offline does not count.
 *
 * Return: how many times since the kernel started.
 */
unsigned long sched_soft_offline_shrinks(void)
{
	return READ_ONCE(soft_offline_nr_shrinks);
}
EXPORT_SYMBOL_GPL(sched_soft_offline_shrinks);

/**
 * sched_soft_offline_bypassed() - whether soft offline has no say at present
 *
 * Return: true while a BPF scheduler schedules all tasks of the fair class.
 */
bool sched_soft_offline_bypassed(void)
{
	return scx_switched_all();
}
EXPORT_SYMBOL_GPL(sched_soft_offline_bypassed);

/* === Changes below our feet === */

static void soft_offline_shrink(struct cpumask *next, const struct cpumask *active)
{
	unsigned int weight = cpumask_weight(next);

	soft_offline_repair(next, active);
	if (cpumask_weight(next) != weight)
		WRITE_ONCE(soft_offline_nr_shrinks, soft_offline_nr_shrinks + 1);
	soft_offline_write(next);
}

/**
 * sched_soft_offline_activate() - make sure that the set suits a CPU that
 * becomes active
 * @cpu: the CPU, not active yet
 *
 * If its siblings are soft offline, the core is no longer a whole one.
 */
void sched_soft_offline_activate(int cpu)
{
	guard(sched_domains)();

	if (cpumask_empty(cpu_soft_offline_mask))
		return;
	cpumask_copy(&soft_offline_next, cpu_soft_offline_mask);
	cpumask_copy(&soft_offline_active, cpu_active_mask);
	cpumask_set_cpu(cpu, &soft_offline_active);
	soft_offline_shrink(&soft_offline_next, &soft_offline_active);
}

/**
 * sched_soft_offline_deactivate() - make sure that the set suits the loss of a
 * CPU
 * @cpu: the CPU, still active
 *
 * It leaves the set if it is in there. If it is not, it may be the last one
 * that others rely on.
 */
void sched_soft_offline_deactivate(int cpu)
{
	guard(sched_domains)();

	if (cpumask_empty(cpu_soft_offline_mask))
		return;
	cpumask_copy(&soft_offline_next, cpu_soft_offline_mask);
	cpumask_clear_cpu(cpu, &soft_offline_next);
	cpumask_copy(&soft_offline_active, cpu_active_mask);
	cpumask_clear_cpu(cpu, &soft_offline_active);
	soft_offline_shrink(&soft_offline_next, &soft_offline_active);
}

/**
 * sched_soft_offline_recheck() - make sure that the set suits new domains or
 * housekeeping CPUs
 *
 * The caller holds off CPU hotplug and has sched_domains_mutex.
 */
void sched_soft_offline_recheck(void)
{
	lockdep_assert_held(&sched_domains_mutex);

	if (cpumask_empty(cpu_soft_offline_mask))
		return;
	cpumask_copy(&soft_offline_next, cpu_soft_offline_mask);
	soft_offline_shrink(&soft_offline_next, cpu_active_mask);
}

/* === Where to go instead === */

static bool soft_offline_usable_by(struct task_struct *p, int cpu)
{
	return cpu_active(cpu) && !cpu_soft_offline(cpu) && task_cpu_possible(cpu, p);
}

bool __sched_soft_offline_covers(const struct cpumask *mask, const struct cpumask *allowed)
{
	int cpu;

	for_each_cpu_and(cpu, mask, allowed) {
		if (!cpu_soft_offline(cpu))
			return false;
	}
	return true;
}

/* Where a search begins, so that those who leave together spread. */
static DEFINE_PER_CPU(unsigned int, soft_offline_cursor);

/*
 * Another CPU for a task on @cpu: an idle one close by, else the least busy of
 * a few. It stays within the root domain, so that nobody ends on an isolated
 * CPU. @cpu itself if there is none.
 */
static int soft_offline_find(struct task_struct *p, const struct cpumask *allowed, int cpu)
{
	unsigned int *cursor = this_cpu_ptr(&soft_offline_cursor);
	unsigned int nr, best_nr = UINT_MAX;
	const struct cpumask *span;
	struct sched_domain *sd;
	int i, best = cpu, seen = 0;

	lockdep_assert_irqs_disabled();
	guard(rcu)();

	sd = rcu_dereference_all(per_cpu(sd_llc, cpu));
	if (sd) {
		for_each_cpu_and(i, allowed, sched_domain_span(sd)) {
			if (available_idle_cpu(i) && soft_offline_usable_by(p, i))
				return i;
		}
	}

	span = cpu_rq(cpu)->rd->span;
	for_each_cpu_wrap(i, allowed, *cursor) {
		if (!cpumask_test_cpu(i, span) || !soft_offline_usable_by(p, i))
			continue;
		nr = READ_ONCE(cpu_rq(i)->nr_running);
		if (nr < best_nr) {
			best_nr = nr;
			best = i;
		}
		if (!nr || ++seen == SOFT_OFFLINE_SCAN)
			break;
	}
	*cursor = best + 1;
	return best;
}

/*
 * For a task that may run on soft offline CPUs only: nobody balances between
 * them, so look for an idle one here.
 */
static int soft_offline_spread(struct task_struct *p, const struct cpumask *allowed, int cpu)
{
	int i;

	if (idle_rq(cpu_rq(cpu)))
		return cpu;
	for_each_cpu_and(i, allowed, cpu_soft_offline_mask) {
		if (idle_rq(cpu_rq(i)) && task_cpu_possible(i, p))
			return i;
	}
	return cpu;
}

int __sched_soft_offline_select(struct task_struct *p, const struct cpumask *allowed, int cpu)
{
	int new_cpu;

	/*
	 * Deadline tasks are where their admission wants them, and others have
	 * their own scheduler.
	 */
	if (p->sched_class != &fair_sched_class && p->sched_class != &rt_sched_class)
		return cpu;
	if (is_migration_disabled(p) || kthread_is_per_cpu(p))
		return cpu;

	new_cpu = soft_offline_find(p, allowed, cpu);
	if (new_cpu == cpu)
		new_cpu = soft_offline_spread(p, allowed, cpu);
	return new_cpu;
}

/* === Who is there must go === */

/*
 * Where a task in @rq's list of the fair class goes, @rq's own CPU if it stays.
 *
 * One whose dequeue is delayed sleeps already, and is off the list when it is
 * next picked. One that is blocked lends its place in the queue to the owner of
 * a lock.
 */
static int soft_offline_destination(struct rq *rq, struct task_struct *p)
{
	lockdep_assert_rq_held(rq);

	if (p->nr_cpus_allowed == 1 || is_migration_disabled(p) || kthread_is_per_cpu(p) ||
	    p->se.sched_delayed || task_is_blocked(p))
		return cpu_of(rq);
	return soft_offline_find(p, p->cpus_ptr, cpu_of(rq));
}

static void soft_offline_move(struct rq *rq, struct rq_flags *rf, struct task_struct *p, int cpu)
{
	deactivate_task(rq, p, DEQUEUE_NOCLOCK);
	set_task_cpu(p, cpu);

	rq_unlock(rq, rf);
	attach_one_task(cpu_rq(cpu), p);
	local_irq_restore(rf->flags);
}

static struct task_struct *soft_offline_last(struct rq *rq)
{
	return list_last_entry(&rq->cfs_tasks, struct task_struct, se.group_node);
}

static DEFINE_PER_CPU(struct cpu_stop_work, soft_offline_work);
static DEFINE_PER_CPU(int, soft_offline_queued);

/*
 * Runs in the stopper, so that no task of the fair class runs meanwhile, and
 * each of them is in the list. Those that stay go to its head, so that one
 * round sees everybody once.
 */
static int soft_offline_stop(void *unused)
{
	struct rq *rq = this_rq();
	struct rq_flags rf;
	unsigned int left, scanned = 0;

	/* Before looking: whoever comes later may queue this again. */
	xchg(this_cpu_ptr(&soft_offline_queued), 0);

	rq_lock_irqsave(rq, &rf);
	update_rq_clock(rq);
	left = rq->cfs.h_nr_queued;
	while (left && cpu_soft_offline(cpu_of(rq)) && !list_empty(&rq->cfs_tasks)) {
		struct task_struct *p = soft_offline_last(rq);
		int cpu = cpu_of(rq);

		/*
		 * With core scheduling or a proxy, one may be in use although
		 * the stopper runs.
		 */
		if (!task_on_cpu(rq, p) && !task_current_donor(rq, p))
			cpu = soft_offline_destination(rq, p);
		left--;
		if (cpu == cpu_of(rq)) {
			list_move(&p->se.group_node, &rq->cfs_tasks);
			if (++scanned % SCHED_NR_MIGRATE_BREAK)
				continue;
			rq_unlock_irqrestore(rq, &rf);
		} else {
			soft_offline_move(rq, &rf, p, cpu);
		}
		rq_lock_irqsave(rq, &rf);
		update_rq_clock(rq);
	}
	rq_unlock_irqrestore(rq, &rf);
	return 0;
}

/**
 * sched_soft_offline_evacuate() - move what may run elsewhere off a CPU
 * @cpu: the CPU
 *
 * Does not wait for it. @cpu is in the set, so that its stopper is there. No
 * runqueue is locked.
 */
void sched_soft_offline_evacuate(int cpu)
{
	if (!xchg(per_cpu_ptr(&soft_offline_queued, cpu), 1))
		stop_one_cpu_nowait(cpu, soft_offline_stop, NULL,
				    per_cpu_ptr(&soft_offline_work, cpu));
}

/*
 * Somebody was woken where it had fallen asleep, may migrate again, has another
 * affinity or class: nothing to hurry for. So look at a few each tick, and
 * rotate the list.
 */
bool __sched_soft_offline_tick(struct rq *rq)
{
	unsigned int left = min_t(unsigned int, rq->cfs.h_nr_queued, SCHED_NR_MIGRATE_BREAK);

	lockdep_assert_rq_held(rq);

	while (left-- && !list_empty(&rq->cfs_tasks)) {
		struct task_struct *p = soft_offline_last(rq);

		if (soft_offline_destination(rq, p) != cpu_of(rq))
			return true;
		list_move(&p->se.group_node, &rq->cfs_tasks);
	}
	return false;
}
