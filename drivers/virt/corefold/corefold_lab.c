// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's side of the lab: a steal clock that somebody outside keeps.
 *
 * An emulated guest sees no steal, although its virtual CPUs do wait for the host's. The host knows
 * for how long. This module offers it an array of nanoseconds, one word per CPU, in guest memory
 * that the host shares, and has the kernel's steal clock read that array. With inject=1 the tests
 * in the guest write the array instead, through debugfs.
 *
 * Never load this in production.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/steal_clock_test.h>
#include <linux/uaccess.h>

static bool inject;
module_param(inject, bool, 0444);
MODULE_PARM_DESC(inject, "Nobody outside writes the counters: debugfs may");

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
	return count;
}

static const struct file_operations steal_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= steal_write,
	.llseek	= noop_llseek,
};

static int __init corefold_lab_init(void)
{
	int err;

	counters_size = PAGE_ALIGN(nr_cpu_ids * sizeof(*counters));
	counters = alloc_pages_exact(counters_size, GFP_KERNEL | __GFP_ZERO);
	if (!counters)
		return -ENOMEM;

	err = sched_steal_clock_test_claim(counters);
	if (err) {
		pr_err("cannot take over the steal clock: %pe\n", ERR_PTR(err));
		free_pages_exact(counters, counters_size);
		return err;
	}

	dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("page", 0444, dir, NULL, &page_fops);
	debugfs_create_file("account", 0200, dir, NULL, &account_fops);
	debugfs_create_file("steal", 0200, dir, NULL, &steal_fops);
	pr_info("steal page at 0x%llx\n", (unsigned long long)virt_to_phys(counters));
	return 0;
}

static void __exit corefold_lab_exit(void)
{
	debugfs_remove(dir);
	sched_steal_clock_test_release();
	free_pages_exact(counters, counters_size);
}

module_init(corefold_lab_init);
module_exit(corefold_lab_exit);

MODULE_DESCRIPTION("Test only: a steal clock kept by the host of an emulated guest");
MODULE_LICENSE("GPL");
