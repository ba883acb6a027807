#include "cli.hpp"

// Each lies in apps/bale/<name>.cpp, apps/graph/<name>.cpp or apps/text/<name>.cpp, or in a folder of its own.
int bfs_main(int argc, char** argv);
int components_main(int argc, char** argv);
int daq_main(int argc, char** argv);
int degrees_main(int argc, char** argv);
int histogram_main(int argc, char** argv);
int index_gather_main(int argc, char** argv);
int jaccard_main(int argc, char** argv);
int join_main(int argc, char** argv);
int kcore_main(int argc, char** argv);
int kmers_main(int argc, char** argv);
int pagerank_main(int argc, char** argv);
int permute_matrix_main(int argc, char** argv);
int random_access_main(int argc, char** argv);
int random_permutation_main(int argc, char** argv);
int sssp_main(int argc, char** argv);
int topological_sort_main(int argc, char** argv);
int transpose_main(int argc, char** argv);
int triangle_main(int argc, char** argv);
int word_count_main(int argc, char** argv);

namespace shunt::apps {

std::span<const app> all() {
  static constexpr app known[] = {
      {"histogram", "many small increments at random places of a distributed table", histogram_main},
      {"index_gather", "many small reads at random places of a distributed table", index_gather_main},
      {"triangle", "triangles of a graph, from a file or generated", triangle_main},
      {"bfs", "breadth-first search by Graph500's rules, and each tree validated", bfs_main},
      {"sssp", "shortest paths with Graph500's weights, by delta stepping", sssp_main},
      {"components", "the connected components of a graph", components_main},
      {"pagerank", "the PageRank of a graph's vertices, the same for any number of PEs", pagerank_main},
      {"jaccard", "how similar the neighbours of each edge's ends are", jaccard_main},
      {"kcore", "the core number of each vertex of a graph", kcore_main},
      {"degrees", "how many vertices of a graph have which degree", degrees_main},
      {"permute_matrix", "a sparse matrix under permutations of its rows and columns", permute_matrix_main},
      {"random_permutation", "a random permutation, the same for any number of PEs", random_permutation_main},
      {"topological_sort", "an order of rows and columns that makes a matrix triangular", topological_sort_main},
      {"transpose", "a sparse matrix whose rows are dealt out, transposed", transpose_main},
      {"random_access", "random updates of a table, by the rules of HPC Challenge", random_access_main},
      {"join", "two tables by their keys", join_main},
      {"word_count", "the words of a file, and the most frequent ones", word_count_main},
      {"kmers", "the k-mers of sequences of bases, and how often each occurs", kmers_main},
      {"daq", "data of ten thousand channels, each read by a fiber, and none lost", daq_main},
  };
  return known;
}

}  // namespace shunt::apps
