//! What the servers in tokio share: the command line, the end of the program, and the process that asks. A module of
//! each crate, by #[path].

use std::env;
use std::fmt::Display;
use std::process::{exit, Child, Command, Stdio};

pub fn end(status: i32, text: impl Display) -> ! {
    let program = env::current_exe().unwrap();
    eprintln!("{}: {text}", program.file_name().unwrap().to_string_lossy());
    exit(status)
}

/// `--name value`, numbers all: those of `known`, each into its place; `--pes` is known, and there is one thread.
pub fn parse(known: &mut [(&str, &mut usize)]) {
    let words: Vec<String> = env::args().skip(1).collect();
    for pair in words.chunks(2) {
        let bad = || -> ! { end(2, format!("bad option or value: {}", pair.join(" "))) };
        let value: usize = pair.get(1).and_then(|v| v.parse().ok()).unwrap_or_else(|| bad());
        match known.iter_mut().find(|(name, _)| *name == pair[0]) {
            Some((_, place)) => **place = value,
            None if pair[0] == "--pes" => {}
            None => bad(),
        }
    }
}

pub fn allow_descriptors(connections: usize) {
    let mut files = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut files);
        files.rlim_cur = files.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &files);
    }
    if files.rlim_cur < connections as u64 + 64 {
        let given = files.rlim_cur;
        end(3, format!("absent: {connections} connections wanted, the system gives {given} descriptors"));
    }
}

/// The program of that name beside this one, which asks the server: it waits for a byte, and ends with status 0.
pub fn asking(name: &str, options: &[(&str, usize)]) -> Child {
    let program = env::current_exe().unwrap().with_file_name(name);
    let words = options.iter().flat_map(|(name, value)| [name.to_string(), value.to_string()]);
    Command::new(program).args(words).stdin(Stdio::piped()).spawn().unwrap_or_else(|bad| end(1, bad))
}
