//! The texts of the site in English and Spanish. Driven by the pages.

use super::route::Lang;

/// The texts of one language, as HTML.
pub(super) struct Translation {
    /// The code of the language in paths and pages.
    pub(super) code: &'static str,
    pub(super) home: &'static str,
    pub(super) articles: &'static str,
    pub(super) recipes: &'static str,
    pub(super) about: &'static str,
    pub(super) about_path: &'static str,
    pub(super) collections: &'static str,
    pub(super) more: &'static str,
    pub(super) search: &'static str,
    pub(super) search_for: &'static str,
    pub(super) search_label: &'static str,
    pub(super) results: &'static str,
    pub(super) no_results: &'static str,
    pub(super) contact: &'static str,
    pub(super) contact_link: &'static str,
    pub(super) name: &'static str,
    pub(super) mail: &'static str,
    pub(super) subject: &'static str,
    pub(super) message: &'static str,
    pub(super) send: &'static str,
    pub(super) preview: &'static str,
    pub(super) log_in: &'static str,
    pub(super) username: &'static str,
    pub(super) password: &'static str,
    pub(super) denied: &'static str,
    pub(super) denied_text: &'static str,
    pub(super) not_found: &'static str,
    pub(super) not_found_text: &'static str,
}

impl Translation {
    /// The texts of a language.
    pub(super) fn of(lang: Lang) -> &'static Translation {
        match lang {
            Lang::En => &ENGLISH,
            Lang::Es => &SPANISH,
        }
    }
}

static ENGLISH: Translation = Translation {
    code: "en",
    home: "Home",
    articles: "Articles",
    recipes: "Recipes",
    about: "About Umami",
    about_path: "/en/about-umami",
    collections: "Recipe collections",
    more: "Read more",
    search: "Search",
    search_for: "Search for",
    search_label: "Enter your keywords",
    results: "Search results",
    no_results: "Your search yielded no results.",
    contact: "Website feedback",
    contact_link: "Contact",
    name: "Your name",
    mail: "Your email address",
    subject: "Subject",
    message: "Message",
    send: "Send message",
    preview: "Preview",
    log_in: "Log in",
    username: "Username",
    password: "Password",
    denied: "Access denied",
    denied_text: "You are not authorized to access this page.",
    not_found: "Page not found",
    not_found_text: "The requested page could not be found.",
};

static SPANISH: Translation = Translation {
    code: "es",
    home: "Inicio",
    articles: "Artículos",
    recipes: "Recetas",
    about: "Acerca de Umami",
    about_path: "/es/acerca-de-umami",
    collections: "Colecciones de recetas",
    more: "Leer más",
    search: "Buscar",
    search_for: "Buscar",
    search_label: "Introduzca las palabras clave",
    results: "Resultados de la búsqueda",
    no_results: "Su búsqueda no produjo resultados.",
    contact: "Comentarios sobre el sitio web",
    contact_link: "Contacto",
    name: "Su nombre",
    mail: "Su dirección de correo electrónico",
    subject: "Asunto",
    message: "Mensaje",
    send: "Enviar mensaje",
    preview: "Vista previa",
    log_in: "Iniciar sesión",
    username: "Nombre de usuario",
    password: "Contraseña",
    denied: "Acceso denegado",
    denied_text: "No tiene autorización para acceder a esta página.",
    not_found: "Página no encontrada",
    not_found_text: "No se ha encontrado la página solicitada.",
};
