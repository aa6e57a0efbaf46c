//! TLS: certificates that are wrong in each way, servers without TLS, client certificates. Each site has a certificate
//! made here; it is signed by the authority of the test, or not.

use crate::faulty::{Act, Site, answer, send};
use crate::program::{Lgoose, plan, scratch};
use crate::report::{Report, run};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// A certificate with its key.
pub(crate) struct Identity {
    pub(crate) certificate: rcgen::Certificate,
    pub(crate) key: KeyPair,
}

impl Identity {
    /// Writes the certificate and its key to files, and returns their paths.
    pub(crate) fn files(&self, name: &str) -> [String; 2] {
        let cert = written(&format!("{name}_cert.pem"), &self.certificate.pem());
        let key = written(&format!("{name}_key.pem"), &self.key.serialize_pem());
        [cert, key]
    }
}

/// An authority that signs certificates.
pub(crate) struct Authority {
    params: CertificateParams,
    identity: Identity,
}

impl Authority {
    pub(crate) fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Two of one name would be told apart by their signatures only.
        let name = format!("authority {}", NEXT.fetch_add(1, Ordering::SeqCst));
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        Authority {
            params,
            identity: Identity { certificate, key },
        }
    }

    /// Creates a certificate for these names, valid this year.
    pub(crate) fn sign(&self, names: &[&str]) -> Identity {
        self.sign_as(params(names))
    }

    /// Creates a certificate for these names that was valid for one year, long ago.
    pub(crate) fn sign_expired(&self, names: &[&str]) -> Identity {
        let mut expired = params(names);
        (expired.not_before, expired.not_after) =
            (date_time_ymd(2001, 1, 1), date_time_ymd(2002, 1, 1));
        self.sign_as(expired)
    }

    fn sign_as(&self, params: CertificateParams) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let issuer = Issuer::from_params(&self.params, &self.identity.key);
        let certificate = params.signed_by(&key, &issuer).expect("a certificate");
        Identity { certificate, key }
    }

    /// Returns its certificate.
    pub(crate) fn certificate(&self) -> CertificateDer<'static> {
        self.identity.certificate.der().clone()
    }

    /// Writes its certificate to a file.
    pub(crate) fn file(&self, name: &str) -> String {
        written(name, &self.identity.certificate.pem())
    }
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    CertificateParams::new(names).expect("names")
}

fn written(name: &str, text: &str) -> String {
    let path = scratch(name);
    std::fs::write(&path, text).expect("the scratch folder takes a file");
    path.display().to_string()
}

/// Configures a server that shows this certificate, and asks for one that `clients` has signed.
pub(crate) fn server(identity: &Identity, clients: Option<&Authority>) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("versions");
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            let certificate = authority.identity.certificate.der().clone();
            roots.add(certificate).expect("an authority");
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            builder.with_client_cert_verifier(verifier.build().expect("roots"))
        }
    };
    let chain: Vec<CertificateDer<'static>> = vec![identity.certificate.der().clone()];
    let key = PrivateKeyDer::Pkcs8(identity.key.serialize_der().into());
    builder
        .with_single_cert(chain, key)
        .expect("a certificate and its key")
}

/// Starts a site that answers everything over TLS with this certificate.
fn site(identity: &Identity) -> Site {
    Site::secure(server(identity, None), |_| answer(200, "", "good"))
}

/// Runs one user that asks `url` for a page and then `good` for another.
fn ask(name: &str, url: &str, good: &Site, options: &[&str]) -> Report {
    let text = format!(
        "task {{ function(user)\nuser:get(\"{url}/\", {{ name = \"page\" }})\n\
         user:get(\"{}/\", {{ name = \"good\" }})\nend }}",
        good.url()
    );
    let path = plan(&format!("{name}.lua"), &text);
    let own = [path.as_str(), "-H", url, "-u", "1", "-i", "1"];
    let report = run(own.iter().chain(options));
    assert_eq!(report.count("GET good"), 1, "{name}");
    assert_eq!(
        report.failures("GET good"),
        0,
        "the user goes on: {:?}",
        report.errors()
    );
    report
}

/// Starts a listener that answers every connection with the same bytes, without reading the request.
fn blurting(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener
        .local_addr()
        .expect("a bound socket has an address");
    thread::spawn(move || {
        for mut stream in listener.incoming().filter_map(Result::ok) {
            thread::spawn(move || {
                stream.write_all(bytes)?;
                std::io::copy(&mut stream, &mut std::io::sink())
            });
        }
    });
    format!("https://{address}")
}

#[test]
fn certificates_that_cannot_be_trusted_are_told_apart() {
    let (known, unknown) = (Authority::new(), Authority::new());
    let ca = known.file("known.pem");
    let good = Site::start(|_| answer(200, "", "good"));
    let mut early = params(&["127.0.0.1"]);
    (early.not_before, early.not_after) = (date_time_ymd(2900, 1, 1), date_time_ymd(2901, 1, 1));
    let own = params(&["127.0.0.1"]);
    let own_key = KeyPair::generate().expect("a key");
    let signed_by_itself = Identity {
        certificate: own.self_signed(&own_key).expect("a certificate"),
        key: own_key,
    };
    let of_authority = Authority::new().identity;
    let problem = "is from an unknown issuer: trust that with '--ca', or trust every certificate with '--insecure'";
    for (name, identity, error) in [
        ("expired", known.sign_expired(&["127.0.0.1"]), "tls: the certificate of '127.0.0.1' has expired".to_owned()),
        ("early", known.sign_as(early), "tls: the certificate of '127.0.0.1' is not valid yet".to_owned()),
        ("wrong_name", known.sign(&["goose.invalid"]), "tls: the certificate is not for '127.0.0.1'".to_owned()),
        ("unknown_issuer", unknown.sign(&["127.0.0.1"]), format!("tls: the certificate of '127.0.0.1' {problem}")),
        ("self_signed", signed_by_itself, format!("tls: the certificate of '127.0.0.1' {problem}")),
        ("authority_itself", of_authority, "tls: the certificate of '127.0.0.1' is self-signed: trust it with '--ca', or trust every certificate with '--insecure'".to_owned()),
    ] {
        let site = site(&identity);
        let report = ask(&format!("tls_{name}"), &site.url(), &good, &["--ca", &ca]);
        assert_eq!(report.messages_of("GET page"), [error], "{name}");
        assert_eq!(site.received(), 0, "{name}: nothing is sent to whom is not trusted");
        let report = ask(&format!("insecure_{name}"), &site.url(), &good, &["--insecure"]);
        assert_eq!(report.errors(), Vec::<String>::new(), "{name}");
        assert_eq!(site.received(), 1, "{name}");
    }
}

#[test]
fn a_handshake_that_fails_is_counted_as_such_and_one_without_end_times_out() {
    let good = Site::start(|_| answer(200, "", "good"));
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let silent_url = format!("https://{}", silent.local_addr().expect("an address"));
    for (name, url, error) in [
        (
            "plain",
            blurting(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
            "tls: the server does not speak TLS",
        ),
        ("silent", silent_url, "connect timeout"),
    ] {
        let options = ["--insecure", "--timeout", "1"];
        let report = ask(&format!("handshake_{name}"), &url, &good, &options);
        assert_eq!(report.messages_of("GET page"), [error], "{name}");
    }
    // Plain HTTP asked of a TLS port is answered with an alert, if at all.
    let identity = Authority::new().sign(&["127.0.0.1"]);
    let secure = site(&identity);
    let url = secure.url().replace("https://", "http://");
    let report = ask("plain_to_tls", &url, &good, &[]);
    let messages = report.messages_of("GET page");
    let told = messages.iter().any(|text| {
        text.starts_with("protocol")
            || text.starts_with("closed early")
            || text.starts_with("connection reset")
    });
    assert!(told, "{messages:?}");
}

#[test]
fn a_server_that_leaves_during_the_handshake_is_counted_as_tls() {
    let good = Site::start(|_| answer(200, "", "good"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("https://{}", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for mut stream in listener.incoming().filter_map(Result::ok) {
            // The hello is read, so that the end is an orderly one.
            let _read = std::io::Read::read(&mut stream, &mut [0; 4096]);
        }
    });
    let report = ask("handshake_left", &url, &good, &["--insecure"]);
    assert_eq!(
        report.messages_of("GET page"),
        ["tls: the server closed during the handshake"]
    );
}

#[test]
fn a_site_that_asks_who_its_clients_are_is_told() {
    let authority = Authority::new();
    let ca = authority.file("clients.pem");
    let config = server(&authority.sign(&["127.0.0.1"]), Some(&authority));
    let site = Site::secure(config, |_| answer(200, "", "welcome"));
    let good = Site::start(|_| answer(200, "", "good"));
    let report = ask("no_client_certificate", &site.url(), &good, &["--ca", &ca]);
    let messages = report.messages_of("GET page");
    assert!(
        messages.len() == 1 && messages[0].starts_with("tls: "),
        "{messages:?}"
    );
    if crate::CLIENT.is_none() {
        let told =
            "tls: the server demands a client certificate: give one with '--cert' and '--key'";
        assert_eq!(messages, [told]);
    }
    let client = authority.sign(&["a client"]);
    let [cert, key] = client.files("client");
    let options = ["--ca", &ca, "--cert", &cert, "--key", &key];
    let report = ask("client_certificate", &site.url(), &good, &options);
    assert_eq!(report.errors(), Vec::<String>::new());
    let both = written(
        "client_both.pem",
        &(client.certificate.pem() + &client.key.serialize_pem()),
    );
    let report = ask(
        "client_one_file",
        &site.url(),
        &good,
        &["--ca", &ca, "--cert", &both],
    );
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!(site.received(), 2);
}

#[test]
fn a_variable_sets_a_flag_as_people_write_it() {
    let site = site(&Authority::new().sign(&["127.0.0.1"]));
    for (value, code) in [
        ("1", 0),
        ("true", 0),
        ("yes", 0),
        ("ON", 0),
        ("", 1),
        ("0", 1),
        ("no", 1),
        ("off", 1),
        ("perhaps", 2),
    ] {
        let run = Lgoose::new([&site.url(), "-u", "1", "-i", "1", "-q"]);
        let ended = run.env("LGOOSE_INSECURE", value).finish();
        assert_eq!(ended.code, code, "'{value}': {}", ended.stderr);
    }
    assert_eq!(site.received(), 4);
}

#[test]
fn a_client_key_that_cannot_be_read_is_told_in_words() {
    let certificate = Authority::new().sign(&["a client"]).certificate.pem();
    let cert = written("client_alone.pem", &certificate);
    let begins =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let encrypted = written("client_encrypted.key", begins);
    for (key, parts) in [
        (&[][..], ["there is no private key in it", "'--key'"]),
        (
            &["--key", &cert],
            ["there is no private key in it", "--key"],
        ),
        (
            &["--key", &encrypted],
            ["the private key is encrypted", "openssl pkey -in"],
        ),
    ] {
        let arguments = [
            "https://127.0.0.1:1/",
            "-u",
            "1",
            "-i",
            "1",
            "--cert",
            &cert,
        ];
        let ended = Lgoose::new(arguments.iter().chain(key)).finish();
        assert_eq!(ended.code, 2, "{key:?}");
        for part in parts {
            assert!(ended.stderr.contains(part), "{key:?}: {}", ended.stderr);
        }
    }
}

#[test]
fn what_ends_with_http_1_1_required_is_asked_again_over_http_1_1() {
    // A reset of stream 1, and the end of the connection before any stream.
    asked_again_over_http_1_1(&[0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 13]);
    asked_again_over_http_1_1(&[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 13]);
}

fn asked_again_over_http_1_1(frame: &'static [u8]) {
    if crate::CLIENT.is_some() {
        // The script below cannot wait for the request, which hyper sends later than its settings.
        return;
    }
    let authority = Authority::new();
    let ca = authority.file("http1_required.pem");
    let mut config = server(&authority.sign(&["127.0.0.1"]), None);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let site = Site::secure(config, |asked| match asked.method.as_str() {
        // The preface of HTTP/2: settings, and the frame.
        "PRI" => vec![
            Act::Send(vec![0, 0, 0, 4, 0, 0, 0, 0, 0]),
            Act::Send(frame.to_vec()),
            Act::Hold,
        ],
        _ => answer(200, "", "good"),
    });
    let path = plan(
        "http1_required.lua",
        "task { function(user) user:get '/' end }",
    );
    let url = site.url();
    let report = run([path.as_str(), "-H", &url, "-u", "1", "-i", "2", "--ca", &ca]);
    assert_eq!(report.errors(), Vec::<String>::new());
    let methods: Vec<_> = site.asked().into_iter().map(|asked| asked.method).collect();
    assert_eq!(
        methods,
        ["PRI", "GET", "GET"],
        "from then on, over HTTP/1.1"
    );
    assert_eq!((report.total("retries"), site.connections()), (1, 2));
    let alone = ["--ca", &ca, "--http", "2"];
    let own = [path.as_str(), "-H", &url, "-u", "1", "-i", "1"];
    let refused = run(own.iter().chain(&alone));
    let told = "connection reset: http/2: endpoint requires HTTP/1.1";
    assert_eq!(refused.messages_of("GET /"), [told]);
}

#[test]
fn names_are_checked_whatever_address_they_are_at_and_sessions_are_resumed() {
    let authority = Authority::new();
    let ca = authority.file("names.pem");
    let site = site(&authority.sign(&["shop.test", "127.0.0.1"]));
    let text =
        "task { function(user) for _ = 1, 3 do user:get(\"/\", { name = \"page\" }) end end }";
    let path = plan("tls_names.lua", text);
    let (host, pin) = (
        format!("https://shop.test:{}", site.port()),
        format!("shop.test:{}:127.0.0.1", site.port()),
    );
    let arguments = [
        &path,
        "-H",
        &host,
        "--resolve",
        &pin,
        "--ca",
        &ca,
        "-u",
        "2",
        "-i",
        "1",
        "--no-keepalive",
    ];
    let report = run(arguments);
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!((report.count("GET page"), site.connections()), (6, 6));
    let resumed = site.asked().iter().filter(|asked| asked.resumed).count();
    assert_eq!(resumed, 4, "each of two users shakes hands in full once");
    let phase = match crate::CLIENT {
        None => "tls",
        Some(_) => "connect",
    };
    let tls = &report.json["aggregated"]["phases_ms"][phase];
    assert!(tls.as_f64().is_some_and(|ms| ms > 0.0), "{tls}");
}

#[test]
fn a_host_that_leaves_a_handshake_hanging_holds_up_no_other() {
    let authority = Authority::new();
    let ca = authority.file("hanging.pem");
    let good = site(&authority.sign(&["127.0.0.1"]));
    // The kernel takes the connection, and nobody answers.
    let hanging = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let text = format!(
        "task {{ function(user) user:batch {{\n\
         {{ path = \"https://{}/\", name = \"hanging\" }}, {{ path = \"{}/\", name = \"good\" }} }} end }}",
        hanging.local_addr().expect("it has one"),
        good.url()
    );
    let path = plan("hanging.lua", &text);
    let url = good.url();
    let options = [
        "-H",
        &url,
        "-u",
        "1",
        "-i",
        "1",
        "--ca",
        &ca,
        "--timeout",
        "2s",
    ];
    let report = run([&[&*path], &options[..]].concat());
    assert_eq!(report.failures("GET good"), 0, "{:?}", report.errors());
    assert_eq!(report.failures("GET hanging"), 1, "{:?}", report.errors());
}

#[test]
fn a_body_that_ends_with_its_connection_counts_only_if_the_server_announced_the_end() {
    let authority = Authority::new();
    let ca = authority.file("announced.pem");
    let config = server(&authority.sign(&["127.0.0.1"]), None);
    let site = Site::secure(config, |asked| {
        let text = "HTTP/1.1 200 OK\r\n\r\na body";
        match asked.path.as_str() {
            "/whole" => send(text, Act::Finish),
            _ => send(text, Act::Close),
        }
    });
    let text = "task { function(user)
        check(user:get('/whole', { name = 'whole' }).body == 'a body', 'is whole')
        user:get('/cut', { name = 'cut' })
      end }";
    let path = plan("tls_announced.lua", text);
    let url = site.url();
    let report = run([&path, "-H", &url, "--ca", &ca, "-u", "1", "-i", "1"]);
    let passes = &report.json["checks"][0]["passes"];
    assert_eq!(*passes, 1, "{:?}", report.errors());
    assert_eq!(report.messages_of("GET cut"), ["closed early"]);
}

#[test]
fn a_body_over_tls_may_be_large_and_may_break() {
    let authority = Authority::new();
    let ca = authority.file("large.pem");
    let config = server(&authority.sign(&["127.0.0.1"]), None);
    let site = Site::secure(config, |asked| match asked.path.as_str() {
        "/cut" => vec![
            Act::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\ncut".to_vec()),
            Act::Close,
        ],
        "/reset" => vec![Act::Reset],
        _ => answer(200, "", asked.body.clone()),
    });
    let text = "task { function(user)
        local text = string.rep('0123456789abcdef', 65536)
        check(user:post('/large', text, { name = 'large' }).body == text, 'comes back')
        user:get('/cut', { name = 'cut' })
        user:get('/reset', { name = 'reset' })
      end }";
    let report = run([
        &plan("tls_large.lua", text),
        "-H",
        &site.url(),
        "--ca",
        &ca,
        "-u",
        "1",
        "-i",
        "1",
    ]);
    assert_eq!(
        report.json["checks"][0]["passes"],
        1,
        "{:?}",
        report.errors()
    );
    assert_eq!(report.messages_of("GET cut"), ["closed early"]);
    assert_eq!(report.messages_of("GET reset"), ["connection reset"]);
    assert_eq!(report.sent(), site.received());
}
