// Question: what do goroutines cost as forks? A goroutine and a WaitGroup a fork; for the loop, a
// goroutine a processor, each of which takes one index at a time.
//
// The problems, the numbers and the way of measuring are those of problems.hpp; the serial function
// is Go's, too.
package main

import (
	"bench/common/program"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const rowsToFork = 4 // of n-queens

// both is f() and g(), perhaps at once.
func both(f, g func() int64) (a, b int64) {
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		defer done.Done()
		b = g()
	}()
	a = f()
	done.Wait()
	return a, b
}

func loop(count int64, body func(int64)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for i := 0; i < runtime.GOMAXPROCS(0); i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for {
				i := next.Add(1) - 1
				if i >= count {
					return
				}
				body(i)
			}
		}()
	}
	all.Wait()
}

//go:noinline
func serialFib(n int) int64 {
	if n < 2 {
		return int64(n)
	}
	return serialFib(n-1) + serialFib(n-2)
}

func forkedFib(n int) int64 {
	if n < 2 {
		return int64(n)
	}
	a, b := both(func() int64 { return forkedFib(n - 1) }, func() int64 { return forkedFib(n - 2) })
	return a + b
}

// board holds the queens in the rows above, as the columns and diagonals that they reach in this row.
type board struct{ all, columns, left, right uint32 }

func (b board) free() uint32 { return b.all &^ (b.columns | b.left | b.right) }

func (b board) with(bit uint32) board {
	return board{b.all, b.columns | bit, (b.left | bit) << 1, (b.right | bit) >> 1}
}

//go:noinline
func serialQueens(b board) int64 {
	if b.columns == b.all {
		return 1
	}
	found := int64(0)
	for free := b.free(); free != 0; free &= free - 1 {
		found += serialQueens(b.with(free & -free))
	}
	return found
}

// forkedQueens forks in the first rows only; `free` are the columns of this row still to be tried.
func forkedQueens(b board, free uint32, rows int) int64 {
	if b.columns == b.all {
		return 1
	}
	if rows == 0 {
		return serialQueens(b)
	}
	if free == 0 {
		return 0
	}
	next := b.with(free & -free)
	if free&(free-1) == 0 {
		return forkedQueens(next, next.free(), rows-1)
	}
	withFirst, others := both(func() int64 { return forkedQueens(next, next.free(), rows-1) },
		func() int64 { return forkedQueens(b, free&(free-1), rows) })
	return withFirst + others
}

func expectedFib(n int) int64 {
	a, b := int64(0), int64(1)
	for ; n > 0; n-- {
		a, b = b, a+b
	}
	return a
}

// Source: the sequence A000170 of the OEIS.
var expectedQueens = []int64{1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184}

func leastOfThree(serial, forked func()) (leastSerial, leastForked float64) {
	leastSerial, leastForked = math.Inf(1), math.Inf(1)
	spent := 0.0
	for round := 0; round < 3 && spent < 2; round++ { // what takes seconds varies less
		start := time.Now()
		serial()
		leastSerial = math.Min(leastSerial, time.Since(start).Seconds())
		middle := time.Now()
		forked()
		leastForked = math.Min(leastForked, time.Since(middle).Seconds())
		spent += time.Since(start).Seconds()
	}
	return leastSerial, leastForked
}

//go:noinline
func nothing(int64) {}

func measure(what string, n int, bodies int64) (serial, forked float64) {
	check := func(got, expected int64) {
		if got != expected {
			program.Wrong(what, got, expected)
		}
	}
	switch what {
	case "fib":
		return leastOfThree(func() { check(serialFib(n), expectedFib(n)) },
			func() { check(forkedFib(n), expectedFib(n)) })
	case "nqueens":
		empty := board{all: 1<<n - 1}
		return leastOfThree(func() { check(serialQueens(empty), expectedQueens[n]) },
			func() { check(forkedQueens(empty, empty.free(), rowsToFork), expectedQueens[n]) })
	}
	// The bodies that are timed do nothing; once, before, each leaves a mark.
	marks := make([]uint8, bodies)
	loop(bodies, func(i int64) { marks[i]++ })
	marked := int64(0)
	for _, mark := range marks {
		if mark == 1 {
			marked++
		}
	}
	check(marked, bodies)
	return leastOfThree(func() {
		for i := int64(0); i < bodies; i++ {
			nothing(i)
		}
	}, func() { loop(bodies, nothing) })
}

func main() {
	options := program.Parse()
	what := options.OneOf("--what", "fib", "nqueens", "parallel_for")
	n := options.Number("--scale")
	if what == "nqueens" && (n < 1 || n >= len(expectedQueens)) {
		program.Bad("--scale", fmt.Sprint(n))
	}
	if workers := options.Number("--pes"); workers > 0 {
		runtime.GOMAXPROCS(workers)
	}
	samples := options.Number("--samples")
	for round := -options.Number("--warmup"); round < samples; round++ {
		serial, forked := measure(what, n, int64(options.Number("--updates")))
		if round >= 0 {
			program.Report(forked, fmt.Sprintf(", \"serial_seconds\": %.9f", serial))
		}
	}
}
