// Question: how much memory does a parked goroutine take?
//
// As parked.hpp: N goroutines wait at one channel, which main closes when it has read the resident
// bytes.
package main

import (
	"bench/common/program"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

func residentBytes() int {
	text, _ := os.ReadFile("/proc/self/smaps_rollup")
	words := strings.Fields(string(text))
	for i, word := range words {
		if word == "Rss:" {
			kib, _ := strconv.Atoi(words[i+1])
			return kib * 1024
		}
	}
	program.Absent("no /proc/self/smaps_rollup")
	return 0
}

func main() {
	n := program.Parse().Number("--fibers")
	runtime.GOMAXPROCS(1)
	gate := make(chan struct{})
	parked, woken := 0, 0
	var all sync.WaitGroup
	all.Add(n)
	residentBytes() // what reading takes is not counted
	before := residentBytes()
	start := program.ProcessorNow()
	for i := 0; i < n; i++ {
		go func() {
			parked++ // one processor, and nothing else runs until a goroutine waits
			<-gate
			woken++
			all.Done()
		}()
	}
	for parked < n {
		runtime.Gosched()
	}
	seconds := program.ProcessorNow() - start
	after := residentBytes()
	if woken != 0 {
		program.Wrong("woken", int64(woken), 0)
	}
	close(gate)
	all.Wait()
	if woken != n || parked != n {
		program.Wrong("woken", int64(woken), int64(n))
	}
	program.Report(seconds, fmt.Sprintf(", \"resident_bytes\": %d, \"process_bytes\": %d", after-before, after))
}
