//! A site on 127.0.0.1 that logs when each request arrived and when its answer left, in nanoseconds: the truth that
//! figures are compared with. How long an answer takes is up to the test. Knows nothing of the program under test.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// A running site; it goes on until the test process ends, as connections of a test end with the program.
pub(crate) struct LoggingSite {
    address: SocketAddr,
    log: Arc<Log>,
}

/// A request and its answer. Times are nanoseconds on the site's clock, which begins with it.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    pub(crate) path: String,
    /// The number of its connection, from 0.
    pub(crate) connection: usize,
    /// When its last byte had been read.
    pub(crate) arrived: u64,
    /// When the first byte of the answer was about to be written.
    pub(crate) left: u64,
}

impl Visit {
    /// How long the site took.
    pub(crate) fn took(&self) -> Duration {
        Duration::from_nanos(self.left - self.arrived)
    }

    /// A part of its path: of `/page/7`, `page` has number 0.
    pub(crate) fn part(&self, number: usize) -> &str {
        self.path.split('/').nth(number + 1).unwrap_or_default()
    }
}

struct Log {
    zero: Instant,
    began: SystemTime,
    visits: Mutex<Vec<Visit>>,
    /// When each connection was seen to have ended.
    ended: Mutex<HashMap<usize, u64>>,
}

impl LoggingSite {
    /// A site that takes so long for the answer to a path that was asked for at a time. A path that begins with
    /// `/broken` is answered with status 500, every other with 200.
    pub(crate) fn start(
        takes: impl Fn(&str, Duration) -> Duration + Send + Sync + 'static,
    ) -> LoggingSite {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let log = Arc::new(Log {
            zero: Instant::now(),
            began: SystemTime::now(),
            visits: Mutex::default(),
            ended: Mutex::default(),
        });
        let site = LoggingSite {
            address,
            log: log.clone(),
        };
        let takes = Arc::new(takes);
        thread::spawn(move || {
            for (number, stream) in listener.incoming().filter_map(Result::ok).enumerate() {
                let (log, takes) = (log.clone(), takes.clone());
                thread::spawn(move || {
                    // A client that goes away ends its connection, not the site.
                    serve(stream, number, &log, &*takes).ok();
                    let now = log.now();
                    locked(&log.ended).insert(number, now);
                });
            }
        });
        site
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All that was answered, in the order in which answers left.
    pub(crate) fn visits(&self) -> Vec<Visit> {
        locked(&self.log.visits).clone()
    }

    /// When a connection was seen to have ended; `None` if the site has not seen it yet.
    pub(crate) fn end_of(&self, connection: usize) -> Option<u64> {
        locked(&self.log.ended).get(&connection).copied()
    }

    /// What a calendar showed at a time on the site's clock.
    pub(crate) fn date(&self, ns: u64) -> SystemTime {
        self.log.began + Duration::from_nanos(ns)
    }
}

impl Log {
    fn now(&self) -> u64 {
        self.zero.elapsed().as_nanos() as u64
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(
    mut stream: TcpStream,
    connection: usize,
    log: &Log,
    takes: &dyn Fn(&str, Duration) -> Duration,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let arrived = log.now();
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let status = if path.starts_with("/broken") {
            "500 Internal Server Error"
        } else {
            "200 OK"
        };
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok");
        thread::sleep(takes(&path, Duration::from_nanos(arrived)));
        {
            // Before it is written: when the program has ended, all that it was told is here.
            let mut visits = locked(&log.visits);
            visits.push(Visit {
                path,
                connection,
                arrived,
                left: log.now(),
            });
        }
        stream.write_all(answer.as_bytes())?;
    }
}
