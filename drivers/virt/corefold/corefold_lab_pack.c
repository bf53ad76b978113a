// SPDX-License-Identifier: GPL-2.0
/*
 * Sets CPU priorities, the levels that pack, and the policy of the cache guard from debugfs, so
 * that tests can drive these without corefold, which takes them from the platform.
 *
 * Never load this in production.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/asym_priority.h>
#include <linux/sched/cache_guard.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

static struct dentry *dir;

/* Which of the hooks this module holds. */
static bool asym_claimed, guard_claimed;
static DEFINE_MUTEX(claim_lock);

static const char * const guard_names[] = {
	[SCHED_CACHE_GUARD_KERNEL]	= "kernel",
	[SCHED_CACHE_GUARD_ASYM]	= "asym",
	[SCHED_CACHE_GUARD_STRICT]	= "strict",
	[SCHED_CACHE_GUARD_LLC]		= "llc",
};

static int asym_claim(void)
{
	int err;

	lockdep_assert_held(&claim_lock);

	if (asym_claimed)
		return 0;
	err = sched_asym_priority_claim();
	asym_claimed = !err;
	return err;
}

static int asym_claim_again(void)
{
	int err = sched_asym_priority_claim();

	guard(mutex)(&claim_lock);

	asym_claimed |= !err;
	return err;
}

static void asym_release(void)
{
	guard(mutex)(&claim_lock);

	if (asym_claimed)
		sched_asym_priority_release();
	asym_claimed = false;
}

static int guard_claim_again(void)
{
	int err = sched_cache_guard_claim();

	guard(mutex)(&claim_lock);

	guard_claimed |= !err;
	return err;
}

static void guard_release(void)
{
	guard(mutex)(&claim_lock);

	if (guard_claimed)
		sched_cache_guard_release();
	guard_claimed = false;
}

/* Hands the text that is written to a file, without blanks around it, to a function. */
static ssize_t take_text(const char __user *ubuf, size_t count, int (*take)(char *text))
{
	char *buf __free(kfree) = NULL;
	int err;

	if (count > PAGE_SIZE)
		return -EINVAL;
	buf = memdup_user_nul(ubuf, count);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	err = take(strim(buf));
	return err ?: count;
}

/* Takes "CPULIST PRIORITY", and leaves the list in @cpus. */
static int set_priorities(char *line, struct cpumask *cpus)
{
	char *list = strsep(&line, " ");
	int cpu, priority, err;

	if (!line || cpulist_parse(list, cpus) || kstrtoint(skip_spaces(line), 10, &priority))
		return -EINVAL;
	for_each_cpu(cpu, cpus) {
		err = sched_asym_priority_set(cpu, priority);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Takes "claim", which asks for the hook whether this module holds it or not; "release"; or lines
 * "CPULIST PRIORITY", of which the first that is refused ends it.
 */
static int priority_take(char *text)
{
	cpumask_var_t cpus;
	char *line;
	int err;

	if (!strcmp(text, "claim"))
		return asym_claim_again();
	if (!strcmp(text, "release")) {
		asym_release();
		return 0;
	}

	guard(mutex)(&claim_lock);

	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	err = asym_claim();
	while (!err && (line = strsep(&text, "\n")))
		err = set_priorities(line, cpus);
	free_cpumask_var(cpus);
	return err;
}

static ssize_t priority_write(struct file *file, const char __user *ubuf, size_t count,
			      loff_t *ppos)
{
	return take_text(ubuf, count, priority_take);
}

static int priority_show(struct seq_file *m, void *unused)
{
	int cpu;

	for_each_possible_cpu(cpu)
		seq_printf(m, "%d %d\n", cpu, sched_asym_priority(cpu));
	return 0;
}
DEFINE_SHOW_STORE_ATTRIBUTE(priority);

/* Takes the names of the levels that pack. */
static int levels_take(char *text)
{
	int err;

	guard(mutex)(&claim_lock);

	err = asym_claim();
	return err ?: sched_asym_priority_set_levels(text);
}

static ssize_t levels_write(struct file *file, const char __user *ubuf, size_t count, loff_t *ppos)
{
	return take_text(ubuf, count, levels_take);
}

static const struct file_operations levels_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= levels_write,
	.llseek	= noop_llseek,
};

static int rebuilds_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "%lu\n", sched_asym_priority_rebuilds());
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(rebuilds);

/* Takes "claim" and "release" as above, or a policy and a gap. */
static int guard_take(char *text)
{
	char *name = strsep(&text, " ");
	unsigned int gap = 0;
	int policy, err = 0;

	if (!strcmp(name, "claim"))
		return guard_claim_again();
	if (!strcmp(name, "release")) {
		guard_release();
		return 0;
	}
	policy = match_string(guard_names, ARRAY_SIZE(guard_names), name);
	if (policy < 0 || (text && kstrtouint(skip_spaces(text), 10, &gap)))
		return -EINVAL;

	guard(mutex)(&claim_lock);

	if (!guard_claimed)
		err = sched_cache_guard_claim();
	guard_claimed |= !err;
	return err ?: sched_cache_guard_set(policy, gap);
}

static ssize_t guard_write(struct file *file, const char __user *ubuf, size_t count, loff_t *ppos)
{
	return take_text(ubuf, count, guard_take);
}

static int guard_show(struct seq_file *m, void *unused)
{
	struct sched_cache_guard_counts counts;

	sched_cache_guard_read(&counts);
	seq_printf(m, "present %d\n", sched_cache_guard_present());
	seq_printf(m, "asym_wins %lu\n", counts.asym_wins);
	seq_printf(m, "llc_wins %lu\n", counts.llc_wins);
	seq_printf(m, "kept_up %lu\n", counts.kept_up);
	return 0;
}
DEFINE_SHOW_STORE_ATTRIBUTE(guard);

/* All domains, in lines "CPU NAME SPAN FLAGS PREFERRED-CPU". */
static int domains_show(struct seq_file *m, void *unused)
{
	struct sched_domain_info info;
	cpumask_var_t span;
	int cpu;

	if (!alloc_cpumask_var(&span, GFP_KERNEL))
		return -ENOMEM;
	cpus_read_lock();
	for_each_online_cpu(cpu)
		for (unsigned int depth = 0; !sched_domain_read(cpu, depth, &info, span); depth++)
			seq_printf(m, "%d %s %*pbl 0x%x %d\n", cpu, info.name,
				   cpumask_pr_args(span), info.flags, info.prefer_cpu);
	cpus_read_unlock();
	free_cpumask_var(span);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(domains);

static int __init corefold_lab_pack_init(void)
{
	dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("priority", 0600, dir, NULL, &priority_fops);
	debugfs_create_file("levels", 0200, dir, NULL, &levels_fops);
	debugfs_create_file("rebuilds", 0444, dir, NULL, &rebuilds_fops);
	debugfs_create_file("guard", 0600, dir, NULL, &guard_fops);
	debugfs_create_file("domains", 0444, dir, NULL, &domains_fops);
	return 0;
}

static void __exit corefold_lab_pack_exit(void)
{
	debugfs_remove(dir);
	guard_release();
	asym_release();
}

module_init(corefold_lab_pack_init);
module_exit(corefold_lab_pack_exit);

MODULE_DESCRIPTION("Test only: CPU priorities and the cache guard, set from debugfs");
MODULE_LICENSE("GPL");
