//! Student's t distribution, whose degrees of freedom need not be whole.

use std::f64::consts::PI;

/// A value that the absolute value is at least more often than one time in ten, whatever the degrees of freedom.
const BELOW: f64 = 1.6;

/// Student's t distribution.
#[derive(Debug, Clone, Copy)]
pub(super) struct StudentsT {
    freedom: f64,
}

impl StudentsT {
    /// Makes one of that many degrees of freedom, from one to a million.
    pub(super) fn new(freedom: f64) -> StudentsT {
        StudentsT { freedom }
    }

    /// Returns how often the absolute value is at least `t`, 0 or more: the regularised incomplete beta function
    /// I_x(freedom / 2, 1 / 2) of x = freedom / (freedom + t²) (Abramowitz & Stegun, 26.7.1; DLMF, 8.17).
    pub(super) fn beyond(self, t: f64) -> f64 {
        let (a, squared) = (self.freedom / 2.0, t * t);
        let (x, rest) = (
            self.freedom / (self.freedom + squared),
            squared / (self.freedom + squared),
        );
        // x^a (1 - x)^b / B(a, b), of b = 1 / 2.
        let power = (-a * (squared / self.freedom).ln_1p()).exp();
        let factor = power * rest.sqrt() * gamma_ratio(a) / PI.sqrt();
        if x < (a + 1.0) / (a + 2.5) {
            factor * fraction(a, 0.5, x) / a
        } else {
            1.0 - factor * fraction(0.5, a, rest) / 0.5
        }
    }

    /// Returns the value that the absolute value is at least with that probability, of at most 0.1.
    pub(super) fn exceeded_with(self, probability: f64) -> f64 {
        // Newton's method from below: the curve is convex.
        let a = self.freedom / 2.0;
        let height = gamma_ratio(a) / (PI * self.freedom).sqrt();
        let mut t = BELOW;
        for _ in 0..100 {
            let density = height * (-(a + 0.5) * (t * t / self.freedom).ln_1p()).exp();
            let step = (self.beyond(t) - probability) / (2.0 * density);
            t += step;
            if step.abs() < 1e-15 * t {
                break;
            }
        }
        t
    }
}

/// Returns Γ(a + 1/2) / Γ(a), by the asymptotic expansion of its logarithm (DLMF, 5.11.8) beyond 20 and the recurrence
/// below.
fn gamma_ratio(a: f64) -> f64 {
    let (mut a, mut factor) = (a, 1.0);
    while a < 20.0 {
        factor *= a / (a + 0.5);
        a += 1.0;
    }
    let s = 1.0 / (a * a);
    let series = -1.0 / 8.0 + s * (1.0 / 192.0 + s * (-1.0 / 640.0 + s * (17.0 / 14_336.0)));
    factor * a.sqrt() * (series / a).exp()
}

/// Returns the continued fraction of the incomplete beta function (DLMF, 8.17.22), by the method of Lentz as Thompson and
/// Barnett changed it (Journal of Computational Physics 64, 1986).
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    /// What stands for zero in a denominator.
    const TINY: f64 = 1e-300;
    let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let coefficient = |n: u32| {
        let m = f64::from(n / 2);
        if n.is_multiple_of(2) {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        }
    };
    let (mut c, mut d) = (1.0, 0.0);
    let mut value = 1.0;
    for n in 1..20_000 {
        let next = coefficient(n);
        d = 1.0 / nonzero(1.0 + next * d);
        c = nonzero(1.0 + next / c);
        value *= c * d;
        if (c * d - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    1.0 / value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Degrees of freedom, the quantile, and how often the absolute value is at least each of [`VALUES`]: those of SciPy
    /// 1.17, with which the crate `statrs` 0.19 agrees to ten digits where freedom is below 1,000.
    const RECORDED: [(f64, f64, [f64; 5]); 15] = [
        (
            1.0,
            12.706204736174694,
            [
                0.936548965138893,
                0.5000000000000001,
                0.24223788318168682,
                0.07916684832113109,
                0.00636598552981651,
            ],
        ),
        (
            1.3,
            7.500529325562029,
            [
                0.9335151960165209,
                0.46724238758644926,
                0.19328076715615347,
                0.046037541667215395,
                0.0017420655295215795,
            ],
        ),
        (
            2.0,
            4.302652729749462,
            [
                0.9294654384141402,
                0.4226497308103742,
                0.12961172022151082,
                0.01526807216533814,
                9.998500249956258e-05,
            ],
        ),
        (
            2.5,
            3.5746548420036817,
            [
                0.9278065440624897,
                0.40406102727827364,
                0.1045699630781554,
                0.007656644131043447,
                1.4383298423332377e-05,
            ],
        ),
        (
            3.0,
            3.1824463052837078,
            [
                0.9266523488008059,
                0.3910022189557705,
                0.08770664700806556,
                0.004076577587785466,
                2.2045219231849105e-06,
            ],
        ),
        (
            4.7,
            2.62072607535317,
            [
                0.9244684127347961,
                0.36597551299454983,
                0.05759215934686732,
                0.0006550245824730537,
                5.272034188494333e-09,
            ],
        ),
        (
            7.0,
            2.364624251592784,
            [
                0.9231480596047924,
                0.3506166628202074,
                0.04099221858575289,
                9.114921170875357e-05,
                2.635297977043105e-12,
            ],
        ),
        (
            10.0,
            2.228138851986274,
            [
                0.9223207185644082,
                0.34089313230206,
                0.03144684423660882,
                1.1774942789666167e-05,
                2.44968955541983e-16,
            ],
        ),
        (
            15.2,
            2.129009473263834,
            [
                0.9216513636157747,
                0.3329650207047857,
                0.024330013023313956,
                7.870967060486386e-07,
                7.606238539505798e-23,
            ],
        ),
        (
            29.0,
            2.045229642132703,
            [
                0.9210324444873739,
                0.32558198801619365,
                0.018325344338426086,
                8.012575649631688e-09,
                2.2600674363790657e-38,
            ],
        ),
        (
            58.3,
            2.001498197878836,
            [
                0.920687411549638,
                0.32144310070049376,
                0.015254016638583518,
                5.919517366119157e-11,
                6.517943428467579e-67,
            ],
        ),
        (
            120.0,
            1.9799304050824402,
            [
                0.9205111993156699,
                0.31932272386442107,
                0.013769534925030417,
                8.833425662830027e-13,
                2.013892249187061e-117,
            ],
        ),
        (
            999.5,
            1.9623402703838457,
            [
                0.9203643790491405,
                0.3175525390700044,
                0.012578647652737663,
                3.428328662909095e-15,
                0.0,
            ],
        ),
        (
            10000.0,
            1.960201239890626,
            [
                0.920346330031075,
                0.31733470433042915,
                0.012435219550583698,
                1.3821208729065301e-15,
                0.0,
            ],
        ),
        (
            1000000.0,
            1.959966356814107,
            [
                0.9203443454920432,
                0.3173107498335783,
                0.012419489502163254,
                1.2455063433202503e-15,
                0.0,
            ],
        ),
    ];

    const VALUES: [f64; 5] = [0.1, 1.0, 2.5, 8.0, 100.0];

    #[test]
    fn it_is_the_distribution_of_the_tables() {
        let same = |found: f64, recorded: f64| (found - recorded).abs() <= 1e-11 * recorded;
        for (freedom, quantile, shares) in RECORDED {
            let student = StudentsT::new(freedom);
            let found = student.exceeded_with(0.05);
            assert!(same(found, quantile), "{freedom}: {found}");
            for (t, share) in VALUES.into_iter().zip(shares) {
                let found = student.beyond(t);
                assert!(same(found, share), "{freedom}, {t}: {found} for {share}");
            }
            assert_eq!(student.beyond(0.0), 1.0);
        }
    }
}
