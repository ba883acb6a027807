// Question: what do a Go channel and a free sync.Mutex cost? The work of work.hpp.
package main

import (
	"bench/common/program"
	"runtime"
	"sync"
	"time"
)

func queue(ends, each, room int) int {
	items := make(chan int, room)
	sums := make(chan int, ends)
	var sent sync.WaitGroup
	for e := 0; e < ends; e++ {
		sent.Add(1)
		go func() {
			for i := 1; i <= each; i++ {
				items <- i
			}
			sent.Done()
		}()
		go func() {
			sum := 0
			for item := range items {
				sum += item
			}
			sums <- sum
		}()
	}
	sent.Wait()
	close(items)
	sum := 0
	for e := 0; e < ends; e++ {
		sum += <-sums
	}
	return sum
}

func handoff(each int) int {
	there, back := make(chan int, 1), make(chan int, 1)
	go func() {
		for item := range there {
			back <- item
		}
	}()
	sum := 0
	for i := 1; i <= each; i++ {
		there <- i
		sum += <-back
	}
	close(there)
	return sum
}

func lock(each int) int {
	var guard sync.Mutex
	held := 0
	for i := 0; i < each; i++ {
		guard.Lock()
		held++
		guard.Unlock()
	}
	return held
}

func main() {
	o := program.Parse()
	items, samples, warmup := o.Number("--rounds"), o.Number("--samples"), o.Number("--warmup")
	what := o.OneOf("--what", "stream", "many", "handoff", "lock")
	ends := 1
	if what == "many" {
		ends = 4
	}
	each := items / ends
	runtime.GOMAXPROCS(o.Number("--pes"))
	for i := 0; i < warmup+samples; i++ {
		start := time.Now()
		sum, right := 0, ends*each*(each+1)/2
		switch what {
		case "lock":
			sum, right = lock(each), each
		case "handoff":
			sum = handoff(each)
		default:
			sum = queue(ends, each, 1024)
		}
		took := time.Since(start).Seconds()
		if sum != right {
			program.Wrong("the sum", int64(sum), int64(right))
		}
		if i >= warmup {
			program.Report(took, "")
		}
	}
}
