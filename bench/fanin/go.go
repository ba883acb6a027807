// Question: how much do 8 goroutines get into one channel?
//
// `--what thread`: how much does one that has a thread of its own, beside as many processors as there are workers?
package main

import (
	"bench/common/program"
	"runtime"
	"time"
)

func main() {
	o := program.Parse()
	senders, samples, warmup := o.Number("--table"), o.Number("--samples"), o.Number("--warmup")
	each := o.Number("--rounds") / senders
	thread := o["--what"] == "thread"
	workers := o.Number("--pes")
	if thread {
		workers++
	}
	runtime.GOMAXPROCS(workers)
	for i := 0; i < warmup+samples; i++ {
		into := make(chan int, 1024)
		start := time.Now()
		for s := 0; s < senders; s++ {
			go func() {
				if thread {
					runtime.LockOSThread()
				}
				for k := 0; k < each; k++ {
					into <- k
				}
			}()
		}
		sum := 0
		for k := 0; k < senders*each; k++ {
			sum += <-into
		}
		took := time.Since(start).Seconds()
		if want := senders * each * (each - 1) / 2; sum != want {
			program.Wrong("the sum", int64(sum), int64(want))
		}
		if i >= warmup {
			program.Report(took, "")
		}
	}
}
