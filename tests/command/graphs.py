#!/usr/bin/env python3
"""Compares the applications of graphs with networkx, which shares nothing with them, over random graphs in files.

  graphs.py SHUNT     SHUNT: the command's program. Exit 1 and a line, where an answer differs.

Compared are `bfs` (levels), `components`, `pagerank`, `jaccard`, `kcore` and `sssp`, whose weights are drawn here once
more, as weighted.hpp and random.hpp describe them.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

import networkx

PES = (1, 3)


class Comparison:
    def __init__(self, shunt, path):
        self.shunt, self.path, self.compared = shunt, path, 0

    def report(self, app, pes, *options):
        line = [self.shunt, "run", app, "--graph", self.path, "--pes", str(pes), "--json", *options]
        done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(line)}: status {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout)

    def expect(self, name, app, pes, wanted, *options, near=0.0):
        """Every fact of `wanted` is in the report, to the relative error `near`."""
        found = self.report(app, pes, *options)
        for fact, value in wanted.items():
            self.compared += 1
            if abs(found[fact] - value) > near * abs(value):
                sys.exit(f"{app} of {name} on {pes} PEs: {fact} is {found[fact]}, networkx has {value}")


def philox(counter, key):
    """Philox 4x32-10: Salmon and others, SC 2011, doi:10.1145/2063384.2063405."""
    a, b, c, d = counter
    k0, k1 = key
    word = 0xffffffff
    for _ in range(10):
        low, high = 0xd2511f53 * a, 0xcd9e8d57 * c
        a, b, c, d = (high >> 32) ^ b ^ k0, high & word, (low >> 32) ^ d ^ k1, low & word
        k0, k1 = (k0 + 0x9e3779b9) & word, (k1 + 0xbb67ae85) & word
    return a, b, c, d


def weight(seed, entry):
    """Of an entry of the input: 24 bits, in [0, 1)."""
    seed ^= 0x7765696768742e2e
    block = philox((entry // 2 & 0xffffffff, entry // 2 >> 32, 0, 0), (seed & 0xffffffff, seed >> 32))
    return (block[2 * (entry % 2) + 1] >> 8) / 2 ** 24


def distances(edges, seed, root):
    """Of all that can be reached from the root. The weights are those of the edges in the order of graph.hpp: by their
    higher end, then by their lower one, each once."""
    simple = sorted({(max(a, b), min(a, b)) for a, b in edges if a != b})
    g = networkx.Graph()
    g.add_node(root)
    for entry, (a, b) in enumerate(simple):
        g.add_edge(a, b, weight=weight(seed, entry))
    return networkx.single_source_dijkstra_path_length(g, root)


def ranks(g):
    """PageRank by its definition."""
    n, damping = g.number_of_nodes(), 0.85
    now = dict.fromkeys(g, 1 / n)
    for _ in range(200):
        dangling = sum(now[v] for v in g if not g[v])
        now = {v: (1 - damping + damping * dangling) / n + damping * sum(now[u] / len(g[u]) for u in g[v]) for v in g}
    return now


def pagerank(g):
    try:
        import scipy  # noqa: F401  networkx.pagerank() needs it
    except ImportError:
        return ranks(g)
    return networkx.pagerank(g, alpha=0.85, max_iter=1000, tol=1e-13)


def compare(name, edges, with_networkx):
    """Of a file with these edges, self-loops and doubles among them."""
    with open(with_networkx.path, "w", encoding="ascii") as out:
        out.writelines(f"{a} {b}\n" for a, b in edges)
    g = networkx.Graph(edges)
    g.remove_edges_from(list(networkx.selfloop_edges(g)))

    root = edges[0][0]
    parts = list(networkx.connected_components(g))
    levels = max(networkx.single_source_shortest_path_length(g, root).values()) + 1
    similar = [likeness for _, _, likeness in networkx.jaccard_coefficient(g, g.edges)]
    numbers = networkx.core_number(g)
    most = max(numbers.values())
    top = max(pagerank(g).values())
    for pes in PES:
        expect = with_networkx.expect
        expect(name, "bfs", pes, {"levels": levels}, "--root", str(root))
        far = distances(edges, 5, root).values()
        expect(name, "sssp", pes, {"reached": len(far)}, "--root", str(root), "--seed", "5")
        expect(name, "sssp", pes, {"mean_distance": sum(far) / len(far), "farthest": max(far)},
               "--root", str(root), "--seed", "5", near=1e-5)
        expect(name, "components", pes, {"components": len(parts), "largest": max(map(len, parts)),
                                         "of_one_vertex": sum(len(part) == 1 for part in parts)})
        expect(name, "pagerank", pes, {"top_rank": top}, "--tolerance", "1e-12", "--rounds", "500", near=1e-6)
        expect(name, "jaccard", pes, {"triangles": sum(networkx.triangles(g).values()) // 3})
        expect(name, "jaccard", pes, {"mean_similarity": sum(similar) / len(similar), "most_similarity": max(similar)},
               near=1e-6)
        expect(name, "kcore", pes, {"degeneracy": most, "sum_of_numbers": sum(numbers.values()),
                                    "innermost_core": sum(number == most for number in numbers.values())})


def main():
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        with_networkx = Comparison(sys.argv[1], os.path.join(folder, "graph.txt"))
        compare("one edge", [(3, 900)], with_networkx)
        for vertices, entries in ((50, 40), (300, 1500), (1000, 900)):
            edges = [(rng.randrange(vertices) * 7, rng.randrange(vertices) * 7) for _ in range(entries)]
            compare(f"{vertices} vertices, {entries} entries", edges, with_networkx)
        compare("preferential attachment", list(networkx.barabasi_albert_graph(400, 5, seed=3).edges), with_networkx)
        compare("cliques", list(networkx.connected_caveman_graph(12, 7).edges), with_networkx)
        compare("tree", list(networkx.balanced_tree(3, 5).edges), with_networkx)
    print(f"{with_networkx.compared} facts are those of networkx")


main()
