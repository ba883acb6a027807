#!/usr/bin/env python3
"""An order without a name, and one without a reason, are found; each of the three reasons is accepted at its site."""
import unittest

import orders
import planted

HEAD = ("/// Invariants\n///   R1  Each count is stored by one side only.\n"
        "/// Edges\n///   filled   push -> pop\n"
        "std::atomic<int> count_{0};\n" + 6 * "int unrelated();\n")


class Orders(unittest.TestCase):
    def problems(self, body, head=HEAD, more=None):
        with planted.tree({"src/shunt/rail/a.hpp": head + body, **(more or {})}) as root:
            tree = orders.Tree(root)
            return [(line - head.count("\n"), what, problem) for path in tree.files
                    for line, what, problem in orders.sites(tree, path) if problem]

    def test_an_operation_without_an_order_is_found(self):
        self.assertEqual([p[:2] for p in self.problems("void f() {\n  count_.store(1);\n  count_.fetch_add(1);\n}\n")],
                         [(2, "store"), (3, "fetch_add")])
        self.assertEqual(len(self.problems("void f() { ++count_; }\n")), 1)

    def test_what_is_no_atomic_is_left_alone(self):
        body = "void f() {\n  variable.store(1);\n  std::exchange(a, 1);\n  over.exchange(b);\n}\n"
        self.assertEqual(self.problems(body), [])

    def test_an_order_without_a_comment_is_found(self):
        for order in ("relaxed", "acquire", "seq_cst"):
            self.assertEqual(len(self.problems(f"int f() {{ return count_.load(std::memory_order_{order}); }}\n")), 1)
        self.assertEqual(len(self.problems("void f() { std::atomic_thread_fence(std::memory_order_seq_cst); }\n")), 1)

    def test_an_edge_needs_both_ends(self):
        out = "void push() {\n  count_.store(1, std::memory_order_release);  // edge `filled` out\n}\n"
        end = "int pop() {\n  // acquire: edge `filled`\n  return count_.load(std::memory_order_acquire);\n}\n"
        self.assertEqual(len(self.problems(out)), 1)
        self.assertEqual(self.problems(out + end), [])

    def test_a_label_must_be_defined_in_the_module(self):
        body = "void f() { count_.store(1, std::memory_order_release); }  // R1: only this thread\n"
        self.assertEqual(self.problems(body), [])
        self.assertEqual(len(self.problems(body.replace("R1", "R7"))), 1)
        body = body.replace("R1", "R7")
        self.assertEqual(len(self.problems(body, more={"src/shunt/sched/b.hpp": "/// R7  It holds.\n"})), 1)
        self.assertEqual(self.problems(body, more={"src/shunt/rail/DESIGN.md": "- **R7** It holds.\n"}), [])

    def test_a_reason_explains_relaxed_only(self):
        body = "int f() { return count_.load(std::memory_order_relaxed); }  // relaxed: a hint\n"
        self.assertEqual(self.problems(body), [])
        self.assertEqual(len(self.problems(body.replace("order_relaxed", "order_acquire"))), 1)
        self.assertEqual(len(self.problems(body.replace(": a hint", ""))), 1)

    def test_a_comment_above_the_function_counts_and_one_far_above_does_not(self):
        far = "// relaxed: a hint\n" + "int g();\n" * 6
        body = ("int f() {\n" + "  int a = 1;\n" * 5 +
                "  return count_.load(std::memory_order_relaxed);\n}\n")
        self.assertEqual(self.problems("/// relaxed: a hint\n" + body), [])
        self.assertEqual(self.problems("/// Looks. relaxed,\n/// here and below: a hint\n" + body), [])
        self.assertEqual(len(self.problems(far + body)), 1)

    def test_tests_are_free(self):
        test = {"src/shunt/rail/a.test.cpp": "void f() { count_.fetch_add(1); }\n"}
        self.assertEqual(self.problems("", more=test), [])

    def test_a_label_is_defined_in_one_file(self):
        files = {"src/shunt/rail/a.hpp": "/// ring.S1  One.\n", "src/shunt/sched/b.hpp": "/// ring.S1  Two.\n"}
        with planted.tree(files) as root:
            self.assertEqual(len(orders.twice(orders.Tree(root))), 1)


if __name__ == "__main__":
    unittest.main()
