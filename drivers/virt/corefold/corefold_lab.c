// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's side of the lab: a steal clock that somebody outside keeps.
 *
 * An emulated guest sees no steal, although its virtual CPUs do wait for the host's. The host knows
 * for how long. This module offers it an array of nanoseconds, one word per CPU, in guest memory
 * that the host shares, and has the kernel's steal clock read that array. With inject=1 the tests
 * in the guest write the array instead, through debugfs. There the tests can also set which CPUs
 * are soft offline, and see what the scheduler makes of all that.
 *
 * Never load this in production.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/soft_offline.h>
#include <linux/sched/steal_clock_test.h>
#include <linux/uaccess.h>

#ifdef CONFIG_PPC_SPLPAR
#include <asm/lppaca.h>
#include <asm/paravirt.h>
#include <asm/time.h>
#endif

static bool inject;
module_param(inject, bool, 0444);
MODULE_PARM_DESC(inject, "Nobody outside writes the counters: debugfs may");

static bool lppaca;
#ifdef CONFIG_PPC_SPLPAR
module_param(lppaca, bool, 0444);
MODULE_PARM_DESC(lppaca, "Write the counters of the hypervisor itself; implies inject");
#endif

/* One word per possible CPU, written by the host or, with inject=1, through debugfs. */
static u64 *counters;
static size_t counters_size;

static struct dentry *dir;

static int page_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "0x%llx\n", (unsigned long long)virt_to_phys(counters));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(page);

/* Takes "CPU NS"; what follows it is refused. */
static int parse_cpu_ns(const char __user *ubuf, size_t count, int *cpu, s64 *ns)
{
	char buf[64], *number;
	int err;

	if (count >= sizeof(buf))
		return -EINVAL;
	if (copy_from_user(buf, ubuf, count))
		return -EFAULT;
	buf[count] = '\0';

	number = strim(buf);
	number = strchr(number, ' ');
	if (!number)
		return -EINVAL;
	*number++ = '\0';
	err = kstrtoint(strim(buf), 10, cpu);
	if (err)
		return err;
	if (*cpu < 0 || *cpu >= nr_cpu_ids || !cpu_possible(*cpu))
		return -EINVAL;
	return kstrtos64(strim(number), 10, ns);
}

static ssize_t account_write(struct file *file, const char __user *ubuf, size_t count, loff_t *ppos)
{
	int cpu, err;
	s64 ns;

	err = parse_cpu_ns(ubuf, count, &cpu, &ns);
	if (err)
		return err;
	sched_steal_clock_test_account(cpu, ns);
	return count;
}

static const struct file_operations account_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= account_write,
	.llseek	= noop_llseek,
};

#ifdef CONFIG_PPC_SPLPAR
/* Only what a shared processor has to wait for is counted. */
static bool lppaca_counts(void)
{
	return is_shared_processor();
}

/* PowerVM counts the wait for a processor, in ticks of the timebase. */
static void lppaca_read(int cpu)
{
	counters[cpu] = tb_to_ns(be64_to_cpu(lppaca_of(cpu).enqueue_dispatch_tb));
}

static void lppaca_write(int cpu)
{
	u64 ticks = mul_u64_u64_div_u64(counters[cpu], tb_ticks_per_sec, NSEC_PER_SEC);

	lppaca_of(cpu).enqueue_dispatch_tb = cpu_to_be64(ticks);
}
#else
static bool lppaca_counts(void) { return false; }
static void lppaca_read(int cpu) {}
static void lppaca_write(int cpu) {}
#endif

/* Has the kernel read from now on what is written here. */
static int take_over_clock(void)
{
	int cpu;

	if (!lppaca)
		return sched_steal_clock_test_claim(counters);
	if (!lppaca_counts())
		return -ENODEV;

	inject = true;
	for_each_possible_cpu(cpu)
		lppaca_read(cpu);
	return 0;
}

static void give_back_clock(void)
{
	if (!lppaca)
		sched_steal_clock_test_release();
}

static ssize_t steal_write(struct file *file, const char __user *ubuf, size_t count, loff_t *ppos)
{
	int cpu, err;
	s64 ns;

	if (!inject)
		return -EPERM;
	err = parse_cpu_ns(ubuf, count, &cpu, &ns);
	if (err)
		return err;
	/* Pairs with the READ_ONCE() of the steal clock. */
	WRITE_ONCE(counters[cpu], (u64)ns);
	if (lppaca)
		lppaca_write(cpu);
	return count;
}

static int steal_show(struct seq_file *m, void *unused)
{
	int cpu;

	for_each_possible_cpu(cpu)
		seq_printf(m, "%d %llu\n", cpu, READ_ONCE(counters[cpu]));
	return 0;
}
DEFINE_SHOW_STORE_ATTRIBUTE(steal);

/* Whether the tests drive soft offline through this module, and not corefold. */
static bool claimed;
static DEFINE_MUTEX(claim_lock);

static void soft_offline_release(void)
{
	guard(mutex)(&claim_lock);

	if (claimed)
		sched_soft_offline_release();
	claimed = false;
}

static int soft_offline_set(const char *list)
{
	cpumask_var_t mask;
	int err;

	guard(mutex)(&claim_lock);

	if (!zalloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;
	err = cpulist_parse(list, mask);
	if (!err && !claimed) {
		err = sched_soft_offline_claim();
		claimed = !err;
	}
	if (!err)
		err = sched_soft_offline_set(mask);
	free_cpumask_var(mask);
	return err;
}

/* Takes a list of CPUs, which claims soft offline if need be, or "release". */
static ssize_t soft_offline_write(struct file *file, const char __user *ubuf, size_t count,
				  loff_t *ppos)
{
	char buf[256], *text;
	int err = 0;

	if (count >= sizeof(buf))
		return -EINVAL;
	if (copy_from_user(buf, ubuf, count))
		return -EFAULT;
	buf[count] = '\0';

	text = strim(buf);
	if (!strcmp(text, "release"))
		soft_offline_release();
	else
		err = soft_offline_set(text);
	return err ?: count;
}

static int print_mask(struct seq_file *m, void (*get)(struct cpumask *mask))
{
	cpumask_var_t mask;

	if (!zalloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;
	get(mask);
	seq_printf(m, "%*pbl\n", cpumask_pr_args(mask));
	free_cpumask_var(mask);
	return 0;
}

static int soft_offline_show(struct seq_file *m, void *unused)
{
	return print_mask(m, sched_soft_offline_read);
}
DEFINE_SHOW_STORE_ATTRIBUTE(soft_offline);

static int eligible_show(struct seq_file *m, void *unused)
{
	return print_mask(m, sched_soft_offline_eligible);
}
DEFINE_SHOW_ATTRIBUTE(eligible);

static int shrinks_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "%lu\n", sched_soft_offline_shrinks());
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(shrinks);

/* The CPUs whose tasks nobody should spin for. */
static void read_preempted(struct cpumask *mask)
{
	int cpu;

	for_each_online_cpu(cpu) {
		if (cpu_is_preempted(cpu))
			cpumask_set_cpu(cpu, mask);
	}
}

static int preempted_show(struct seq_file *m, void *unused)
{
	return print_mask(m, read_preempted);
}
DEFINE_SHOW_ATTRIBUTE(preempted);

static int irq_load_show(struct seq_file *m, void *unused)
{
	int cpu;

	for_each_online_cpu(cpu)
		seq_printf(m, "%d %lu\n", cpu, sched_steal_clock_test_irq_load(cpu));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(irq_load);

static int __init corefold_lab_init(void)
{
	int err;

	counters_size = PAGE_ALIGN(nr_cpu_ids * sizeof(*counters));
	counters = alloc_pages_exact(counters_size, GFP_KERNEL | __GFP_ZERO);
	if (!counters)
		return -ENOMEM;

	err = take_over_clock();
	if (err) {
		pr_err("cannot take over the steal clock: %pe\n", ERR_PTR(err));
		free_pages_exact(counters, counters_size);
		return err;
	}

	dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("page", 0444, dir, NULL, &page_fops);
	debugfs_create_file("account", 0200, dir, NULL, &account_fops);
	debugfs_create_file("steal", 0600, dir, NULL, &steal_fops);
	debugfs_create_file("soft_offline", 0600, dir, NULL, &soft_offline_fops);
	debugfs_create_file("eligible", 0444, dir, NULL, &eligible_fops);
	debugfs_create_file("shrinks", 0444, dir, NULL, &shrinks_fops);
	debugfs_create_file("preempted", 0444, dir, NULL, &preempted_fops);
	debugfs_create_file("irq_load", 0444, dir, NULL, &irq_load_fops);
	pr_info("steal page at 0x%llx\n", (unsigned long long)virt_to_phys(counters));
	return 0;
}

static void __exit corefold_lab_exit(void)
{
	debugfs_remove(dir);
	soft_offline_release();
	give_back_clock();
	free_pages_exact(counters, counters_size);
}

module_init(corefold_lab_init);
module_exit(corefold_lab_exit);

MODULE_DESCRIPTION("Test only: a steal clock kept by the host of an emulated guest");
MODULE_LICENSE("GPL");
