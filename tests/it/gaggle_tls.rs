//! A broker over TLS: who is trusted, who one is, and certificates that have expired.

use crate::broker::Broker;
use crate::gaggle::{STEADY, report_of};
use crate::program::{Ended, Lgoose, plan, scratch, wait_until};
use crate::secure::{Authority, Identity};
use crate::server::Server;

/// Files of a certificate and its key.
struct Files {
    cert: String,
    key: String,
}

impl Files {
    fn of(identity: &Identity, name: &str) -> Files {
        let [cert, key] = identity.files(&format!("gaggle_{name}"));
        Files { cert, key }
    }

    fn flags(&self) -> [&str; 4] {
        ["--nats-cert", &self.cert, "--nats-key", &self.key]
    }
}

/// Starts a broker that shows this certificate, and asks for one of this authority.
fn broker(own: &Files, ca: &str) -> Option<Broker> {
    let Files { cert, key } = own;
    let config = format!(
        "jetstream {{ store_dir: \"STORE\" }}\n\
         tls {{ cert_file: \"{cert}\", key_file: \"{key}\", ca_file: \"{ca}\", verify: true }}"
    );
    Broker::with("s3cret", &config)
}

fn secure(broker: &Broker) -> String {
    broker.url().replace("nats:", "tls:")
}

/// Does a run of a second on one worker.
fn run(broker: &Broker, server: &Server, more: &[&str]) -> Ended {
    let (path, url, secure) = (plan("gaggle_tls.lua", STEADY), server.url(), secure(broker));
    let plain = [
        &*path,
        "-H",
        &url,
        "--workers",
        "1",
        "-u",
        "1",
        "-t",
        "1s",
        "-o",
        "json=-",
        "--nats",
        &secure,
    ];
    Lgoose::new([&plain[..], more].concat()).finish()
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_broker_over_tls_is_trusted_and_shown_who_one_is() {
    let authority = Authority::new();
    let own = Files::of(&authority.sign(&["127.0.0.1"]), "own");
    let ca = authority.file("gaggle_ca.pem");
    let Some(broker) = broker(&own, &ca) else {
        return;
    };
    let server = Server::start();
    let tls = [&["--nats-ca", &*ca][..], &own.flags()].concat();
    let worker = Lgoose::new([&["worker"][..], &tls].concat())
        .env("LGOOSE_NATS", &secure(&broker))
        .start();
    wait_until("the worker is ready", || {
        worker.stderr().contains("waits for runs")
    });
    let (report, _) = report_of(run(&broker, &server, &tls));
    assert_eq!(report.sent(), server.received());
    let stranger = run(&broker, &server, &[]);
    assert_eq!(stranger.code, 3, "{}", stranger.stderr);
    assert!(
        stranger.stderr.contains("'--nats-ca'"),
        "{}",
        stranger.stderr
    );
    let none = scratch("gaggle_none.creds").display().to_string();
    let missing = run(
        &broker,
        &server,
        &[&tls[..], &["--nats-creds", &none]].concat(),
    );
    assert_eq!(missing.code, 3, "{}", missing.stderr);
    assert!(missing.stderr.contains(&none), "{}", missing.stderr);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_certificate_that_has_expired_is_told_on_either_side() {
    let authority = Authority::new();
    let own = Files::of(&authority.sign(&["127.0.0.1"]), "valid");
    let old = Files::of(&authority.sign_expired(&["127.0.0.1"]), "expired");
    let ca = authority.file("gaggle_expired_ca.pem");
    let server = Server::start();
    let trusting = ["--nats-ca", &*ca];
    let Some(expired) = broker(&old, &ca) else {
        return;
    };
    let Some(valid) = broker(&own, &ca) else {
        return;
    };
    let refused = "does not accept the certificate of '--nats-cert'";
    for (broker, shown, why) in [(&expired, &own, "expired"), (&valid, &old, refused)] {
        let ended = run(broker, &server, &[&trusting[..], &shown.flags()].concat());
        assert_eq!((ended.code, server.received()), (3, 0), "{}", ended.stderr);
        let told = ended.stderr.to_lowercase();
        assert!(told.contains(why), "{told}");
        assert!(told.contains("cannot connect to the broker"), "{told}");
        assert!(told.contains("expired"), "{told}");
        assert!(told.contains("; check "), "{told}");
    }
}

#[test]
fn a_broker_without_tls_is_told_at_once() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let url = broker.url().replace("nats://", "tls://");
    for command in ["worker", "gaggle"] {
        let ended = Lgoose::new([command]).env("LGOOSE_NATS", &url).finish();
        assert_eq!(ended.code, 3, "{}", ended.stderr);
        let told = "it does not speak TLS; write 'nats://' in place of 'tls://'";
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
    }
}
