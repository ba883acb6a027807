// Question: how much memory does a parked goroutine take?
//
// As parked.hpp: N goroutines wait at one channel, which main closes when it has read the resident
// bytes.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

func processorNow() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + 1e-6*float64(u.Utime.Usec+u.Stime.Usec)
}

func residentBytes() int {
	text, _ := os.ReadFile("/proc/self/smaps_rollup")
	words := strings.Fields(string(text))
	for i, word := range words {
		if word == "Rss:" {
			kib, _ := strconv.Atoi(words[i+1])
			return kib * 1024
		}
	}
	fmt.Fprintln(os.Stderr, "memory_go: absent: no /proc/self/smaps_rollup")
	os.Exit(3)
	return 0
}

func main() {
	n := 1000
	for a := 1; a < len(os.Args); a += 2 {
		value := ""
		if a+1 < len(os.Args) {
			value = os.Args[a+1]
		}
		number, err := strconv.Atoi(value)
		known := os.Args[a] == "--fibers" || os.Args[a] == "--samples" || os.Args[a] == "--warmup"
		if err != nil || number < 0 || !known {
			fmt.Fprintf(os.Stderr, "memory_go: bad option or value: %s %s\n", os.Args[a], value)
			os.Exit(2)
		}
		if os.Args[a] == "--fibers" {
			n = number
		}
	}
	runtime.GOMAXPROCS(1)
	gate := make(chan struct{})
	parked, woken := 0, 0
	var all sync.WaitGroup
	all.Add(n)
	residentBytes() // what reading takes is not counted
	before := residentBytes()
	start := processorNow()
	for i := 0; i < n; i++ {
		go func() {
			parked++ // one processor, and nothing else runs until somebody waits
			<-gate
			woken++
			all.Done()
		}()
	}
	for parked < n {
		runtime.Gosched()
	}
	seconds := processorNow() - start
	after := residentBytes()
	if woken != 0 {
		fmt.Fprintf(os.Stderr, "memory_go: wrong answer: woken is %d, expected 0\n", woken)
		os.Exit(1)
	}
	close(gate)
	all.Wait()
	if woken != n || parked != n {
		fmt.Fprintf(os.Stderr, "memory_go: wrong answer: woken is %d, expected %d\n", woken, n)
		os.Exit(1)
	}
	fmt.Printf("{\"seconds\": %.9f, \"checked\": true, \"resident_bytes\": %d}\n", seconds, after-before)
}
