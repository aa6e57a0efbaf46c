//! Options that lgoose has from curl, as curl reads them: `--resolve`, and `--insecure` for `-k`.

use crate::faulty::{Site, answer};
use crate::program::{Lgoose, empty_folder, wait_until};
use crate::skipping::skip;
use crate::table::Table;
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair, date_time_ymd};
use serde::{Deserialize, Serialize};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A command line; `$p` is the port of a site, `$rsa1024` that of one over TLS with such a certificate.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct CommandLine {
    options: Vec<String>,
    url: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Outcome {
    worked: bool,
    /// `HOST PATH` of each request that the site saw.
    saw: Vec<String>,
}

/// Certificates that nobody trusts: the name of each, and what `openssl req` is told.
const CERTIFICATES: [(&str, &[&str]); 5] = [
    ("self", &["-x509", "-newkey", "rsa:2048"]),
    ("rsa1024", &["-x509", "-newkey", "rsa:1024"]),
    ("md5", &["-x509", "-newkey", "rsa:2048", "-md5"]),
    ("sha1", &["-x509", "-newkey", "rsa:2048", "-sha1"]),
    ("v1", &["-newkey", "rsa:2048"]),
];

/// Sites over TLS, each with its certificate; ended when this is dropped.
struct Secure(Vec<(String, u16, Child)>);

impl Drop for Secure {
    fn drop(&mut self) {
        for (.., child) in &mut self.0 {
            let _ended = child.kill();
            let _ended = child.wait();
        }
    }
}

impl Secure {
    fn start(folder: &Path) -> Secure {
        let mut all = Secure(Vec::new());
        for (name, words) in CERTIFICATES {
            let file = |end: &str| folder.join(format!("{name}.{end}")).display().to_string();
            let (cert, key, request) = (file("pem"), file("key"), file("csr"));
            let out = if name == "v1" { &request } else { &cert };
            let made = [
                "-nodes",
                "-keyout",
                &key,
                "-out",
                out,
                "-subj",
                "/CN=localhost",
            ];
            openssl(&[&["req"], words, &made].concat());
            if name == "v1" {
                // Without extensions, this is version 1.
                openssl(&[
                    "x509", "-req", "-in", &request, "-signkey", &key, "-out", &cert,
                ]);
            }
            all.serve(name, &cert, &key);
        }
        for name in ["expired", "early", "other", "authority", "client"] {
            let names = if name == "other" {
                "elsewhere.test"
            } else {
                "localhost"
            };
            let mut params = CertificateParams::new([names.to_owned()]).expect("a name");
            match name {
                "expired" => params.not_after = date_time_ymd(2020, 1, 1),
                "early" => params.not_before = date_time_ymd(2090, 1, 1),
                "authority" => params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained),
                "client" => params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth],
                _ => {}
            }
            let key = KeyPair::generate().expect("a key");
            let certificate = params.self_signed(&key).expect("a certificate");
            let file = |end: &str, text: &str| {
                let path = folder.join(format!("{name}.{end}"));
                std::fs::write(&path, text).expect("a file");
                path.display().to_string()
            };
            let cert = file("pem", &certificate.pem());
            all.serve(name, &cert, &file("key", &key.serialize_pem()));
        }
        all
    }

    fn serve(&mut self, name: &str, cert: &str, key: &str) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("bound").port();
        drop(listener);
        let child = Command::new("openssl")
            .args(["s_server", "-www", "-quiet", "-cert", cert, "-key", key])
            .args(["-cipher", "DEFAULT@SECLEVEL=0"])
            .args(["-accept", &format!("127.0.0.1:{port}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.0
            .push((name.to_owned(), port, child.expect("openssl is there")));
        wait_until(name, || TcpStream::connect(("127.0.0.1", port)).is_ok());
    }
}

fn openssl(words: &[&str]) {
    let ended = Command::new("openssl").args(words).output();
    let ended = ended.expect("openssl is there");
    let error = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "openssl {words:?}: {error}");
}

/// Returns what each command line does; `run` runs one, and says whether it worked. `None`, said aloud, without openssl.
fn outcomes(
    folder: &str,
    cases: &[CommandLine],
    run: impl Fn(&[String], &str) -> bool,
) -> Option<Vec<Outcome>> {
    if Command::new("openssl").arg("version").output().is_err() {
        skip("certificates that nobody trusts", "openssl");
        return None;
    }
    let site = Site::start(|_| answer(200, "", "good"));
    let secure = Secure::start(&empty_folder(folder));
    let with_ports = |text: &str| {
        let text = text.replace("$p", &site.port().to_string());
        let each = secure.0.iter();
        each.fold(text, |text, (name, port, _)| {
            text.replace(&format!("${name}"), &port.to_string())
        })
    };
    let outcome = |case: &CommandLine| {
        let before = site.asked().len();
        let options: Vec<String> = case.options.iter().map(|one| with_ports(one)).collect();
        let worked = run(&options, &with_ports(&case.url));
        let asked = site.asked().into_iter().skip(before);
        let saw = asked.map(|asked| {
            let host = asked.header("host").replace(&site.port().to_string(), "$p");
            format!("{host} {}", asked.path)
        });
        Outcome {
            worked,
            saw: saw.collect(),
        }
    };
    Some(cases.iter().map(outcome).collect())
}

/// Returns the name and the version of the curl that is installed.
pub(crate) fn version() -> Option<String> {
    let shown = Command::new("curl").arg("--version").output().ok()?;
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let words: Vec<&str> = shown.split_whitespace().take(2).collect();
    Some(words.join(" "))
}

type CommandLines = Table<CommandLine, Outcome>;

#[test]
fn options_of_curl_mean_what_they_mean_to_curl() {
    let table = CommandLines::open("curl");
    let own = outcomes("judge_curl_own", &table.inputs(), |options, url| {
        let words = ["-u", "1", "-i", "1", "-q"].map(str::to_owned);
        let all = [&[url.to_owned()][..], options, &words].concat();
        Lgoose::new(all).finish().code == 0
    });
    if let Some(own) = own {
        table.compare(own, |_, _| ());
    }
}

#[test]
fn the_record_of_curl_is_what_curl_does_today() {
    let Some(version) = version() else {
        return skip("options of curl", "Debian's package 'curl'");
    };
    let table = CommandLines::open("curl");
    let today = outcomes("judge_curl", &table.inputs(), |options, url| {
        let ended = Command::new("curl")
            .args([
                "--silent",
                "--max-time",
                "20",
                "--noproxy",
                "*",
                "--globoff",
            ])
            .args(options)
            .arg(url)
            .output();
        ended.expect("curl is there").status.success()
    });
    if let Some(today) = today {
        table.judge(&version, today);
    }
}
