//! The pages of the shop, each complete. Texts in them are the shop's own: there is nothing to escape.

/// The stylesheet.
pub(super) const STYLE: &str = "body { font-family: sans-serif; margin: 2rem auto; max-width: 40rem }\nnav a { margin-right: 1rem }\n";
/// The logo, a house.
pub(super) const LOGO: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 24 24\" width=\"48\" height=\"48\">\
    <path d=\"M12 3 2 12h3v9h14v-9h3z\"/></svg>\n";

pub(super) fn front() -> String {
    page(
        "Welcome",
        "<p>A small shop with 100 products, made for trying things out.</p>",
    )
}

pub(super) fn about() -> String {
    page("About", "<p>Everything here is made up.</p>")
}

/// The page of the login form, below an error if there is one.
pub(super) fn login(error: &str) -> String {
    let error = match error {
        "" => String::new(),
        error => format!("<p class=\"error\">{error}</p>\n"),
    };
    let form = "<form id=\"login\" action=\"/login\" method=\"post\">\n\
        <label>Username <input name=\"username\" required></label>\n\
        <label>Password <input name=\"password\" type=\"password\" required></label>\n\
        <button>Log in</button>\n</form>";
    page("Log in", &format!("{error}{form}"))
}

/// The page of a customer's account.
pub(super) fn account(name: &str) -> String {
    let content = format!(
        "<p>You are logged in as <b id=\"name\">{name}</b>.</p>\n\
         <form id=\"logout\" action=\"/logout\" method=\"post\"><button>Log out</button></form>"
    );
    page("Your account", &content)
}

fn page(title: &str, content: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title} | Shop</title>\n\
         <link rel=\"stylesheet\" href=\"/style.css\">\n</head>\n<body>\n\
         <nav><img src=\"/logo.svg\" alt=\"\"> <a href=\"/\">Shop</a> <a href=\"/about\">About</a> \
         <a href=\"/account\">Your account</a></nav>\n<h1>{title}</h1>\n{content}\n</body>\n</html>\n"
    )
}
