//! daq in tokio: a task for each channel, on the current-thread runtime.

use std::io::Write;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use tokio::io::AsyncReadExt;
use tokio::net::{TcpSocket, TcpStream};

#[path = "../../../common/tokio.rs"]
mod asker;
use asker::end;

const FRAME_BYTES: usize = 64;
const FRAMES_A_READ: usize = 16;
const DEADLINE: u32 = 1_000_000;

struct Options {
    channels: usize,
    frames: usize,
    period: usize,
    samples: usize,
    warmup: usize,
}

fn parse() -> Options {
    let mut o = Options { channels: 1000, frames: 100, period: 0, samples: 5, warmup: 1 };
    asker::parse(&mut [
        ("--table", &mut o.channels),
        ("--rounds", &mut o.frames),
        ("--period", &mut o.period),
        ("--samples", &mut o.samples),
        ("--warmup", &mut o.warmup),
    ]);
    o
}

/// CLOCK_MONOTONIC, which the source stamps its frames with.
fn now_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

fn resident() -> i64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = text.lines().find(|l| l.starts_with("Rss:")).unwrap_or("Rss: 0");
    line.split_whitespace().nth(1).and_then(|n| n.parse::<i64>().ok()).unwrap_or(0) * 1024
}

/// What all tasks share. Nothing that a read touches is locked or read and written back: a task stores ages in places
/// of its own, and counts its frames itself.
struct Readings {
    frames: usize,
    left: AtomicUsize, // channels whose last frame has not come
    waiting: AtomicUsize,
    ages: OnceLock<Vec<AtomicU32>>, // set before the first frame is sent
    end: AtomicU64,
}

impl Readings {
    fn decode(&self, ages: &[AtomicU32], some: &[u8], next: &mut u32) {
        let now = now_ns();
        for f in some.chunks_exact(FRAME_BYTES) {
            let word = |at: usize| u64::from_le_bytes(f[at..at + 8].try_into().unwrap());
            let half = |at: usize| u32::from_le_bytes(f[at..at + 4].try_into().unwrap());
            let (channel, number, due) = (half(0), half(4), word(8));
            let mut sum = u64::from(channel)
                .wrapping_mul(0x9e3779b97f4a7c15)
                .wrapping_add(u64::from(number))
                .wrapping_add(due);
            for at in (16..56).step_by(8) {
                sum = sum.wrapping_mul(31).wrapping_add(word(at));
            }
            if sum != word(56) {
                end(1, format!("wrong answer: a frame's sum is {sum}, expected {}", word(56)));
            }
            if number != *next {
                end(1, format!("wrong answer: a frame's number is {number}, expected {next}"));
            }
            *next += 1;
            let age = now.saturating_sub(due).min(u64::from(u32::MAX)) as u32;
            ages[channel as usize * self.frames + number as usize].store(age, Relaxed);
        }
        if *next as usize == self.frames && self.left.fetch_sub(1, Relaxed) == 1 {
            self.end.store(now_ns(), Relaxed);
        }
    }
}

async fn follow(mut channel: TcpStream, all: Arc<Readings>) -> std::io::Result<()> {
    let mut buffer = [0u8; FRAMES_A_READ * FRAME_BYTES];
    let (mut have, mut next) = (0, 0);
    all.waiting.fetch_add(1, Relaxed);
    loop {
        let count = channel.read(&mut buffer[have..]).await?;
        if count == 0 {
            if next as usize != all.frames {
                end(1, format!("wrong answer: a channel has {next} frames, expected {}", all.frames));
            }
            return Ok(());
        }
        have += count;
        let whole = have / FRAME_BYTES * FRAME_BYTES;
        if whole > 0 {
            all.decode(all.ages.get().unwrap(), &buffer[..whole], &mut next);
            buffer.copy_within(whole..have, 0);
            have -= whole;
        }
    }
}

async fn sample(o: &Options, at_first: i64, report: bool) -> std::io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.bind("127.0.0.1:0".parse().unwrap())?;
    let door = socket.listen(4096)?;
    let mut from = asker::asking(
        "daq_source",
        &[
            ("--port", door.local_addr()?.port().into()),
            ("--table", o.channels),
            ("--rounds", o.frames),
            ("--period", o.period),
        ],
    );
    let all = Arc::new(Readings {
        frames: o.frames,
        left: AtomicUsize::new(o.channels),
        waiting: AtomicUsize::new(0),
        ages: OnceLock::new(),
        end: AtomicU64::new(0),
    });
    let mut tasks = Vec::new();
    for _ in 0..o.channels {
        let (channel, _) = door.accept().await?;
        tasks.push(tokio::spawn(follow(channel, all.clone())));
    }
    while all.waiting.load(Relaxed) < o.channels {
        tokio::task::yield_now().await;
    }
    // Not zeros: its pages come now, before the clock.
    all.ages.set((0..o.channels * o.frames).map(|_| AtomicU32::new(1)).collect()).unwrap();
    let memory = resident() - 4 * (o.channels * o.frames) as i64;
    let begin = now_ns();
    from.stdin.take().unwrap().write_all(b"g")?;
    for task in tasks {
        task.await.unwrap()?;
    }
    let status = from.wait()?;
    if !status.success() {
        end(1, format!("wrong answer: the source's exit status is {status}, expected 0"));
    }
    if report {
        let seconds = 1e-9 * (all.end.load(Relaxed) - begin) as f64;
        let mut ages: Vec<u32> = all.ages.get().unwrap().iter().map(|age| age.load(Relaxed)).collect();
        ages.sort_unstable();
        let at = |share: f64| ages[(share * (ages.len() - 1) as f64) as usize];
        let missed = ages.iter().filter(|age| **age > DEADLINE).count() as f64 / ages.len() as f64;
        println!(
            "{{\"seconds\": {seconds:.9}, \"checked\": true, \"frames\": {}, \"resident_bytes\": {}, \
             \"median_ns\": {}, \"p99_ns\": {}, \"p999_ns\": {}, \"missed_share\": {missed:.6}}}",
            ages.len(),
            memory - at_first,
            at(0.5),
            at(0.99),
            at(0.999)
        );
    }
    Ok(())
}

fn main() {
    let o = parse();
    asker::allow_descriptors(o.channels);
    let at_first = resident();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    for round in 0..o.warmup + o.samples {
        runtime.block_on(sample(&o, at_first, round >= o.warmup)).unwrap_or_else(|bad| end(1, bad));
    }
}
