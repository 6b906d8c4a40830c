"""What a translator must carry through unchanged: quantities and addresses, each in an English and a French sentence."""

QUANTITIES = {
    ("It is {} outside.", "Il fait {} dehors."): "-5 °C|+5 °C|−5 °C|-12,5 °C|~20°|14°F|+ 5 °C|25 º C|25 ˚C",
    ("He owes me {} dollars.", "Il me doit {} dollars."): "-50|3|1,234.56|1 000,50|1.5e6|2x",
    ("Read pages {} today.", "Lisez les pages {} aujourd'hui."): "3-5|3–5|3 - 5|5–10%|−5 – −3",
    ("The train leaves at {}.", "Le train part à {}."): "9:30|9h30|9 h 30|9.30 pm|12:00:05|21 h|9 am–5 pm|24 h/24",
    ("I was born on {}.", "Je suis né le {}."): (
        "12/05/2024|2024-05-12|12 May 2024|May 12, 2024|12 mai 2024|1er août 1990|12.05.24|5 Dec '99|'68"
    ),
    ("This is my {} visit.", "C'est ma {} visite."): "1st|2nd|1er|2e|21st|10,000th|3ème|XXIe|1 er|IV|Ⅳ",
    ("Add {} cups of sugar.", "Ajoutez {} tasses de sucre."): "1/2|½|3 1/2|2¾|3 - 4|2 x 3",
    ("It costs {} now.", "Ça coûte {} maintenant."): (
        "$5|€5.50|5,50 €|£3|-$5|US$ 20|5k€|₹500|$1.2bn|($5)|5 €/kg|€1,50 / kg|kr 100|100 kr|zł 5|10 ct|5.-"
    ),
    ("Prices changed by {} this year.", "Les prix ont changé de {} cette année."): "-3%|50 %|+0.5 %|5‰|×2|2×|5 pts|5 pct",
    ("It weighs {} now.", "Ça pèse {} maintenant."): (
        "5kg|5 kg|3.5GHz|5 km/h|10 m/s²|5 lbs|2 mg/L|72 bpm|120/80 mmHg|5 N·m|5 m2|1000 mAh|5 mmol/L|6'2\"|5 ft 10 in|"
        '3 sq. ft|2 fl oz|5 bar|27"|90 yrs'
    ),
    ("The value is {}.", "La valeur est {}."): (
        '1e-5|10^-5|10⁻⁵|-1.5E+6|0x1F|2 + 2 = 4|.5|±3|(3, -4)|[1, 2]|"5"|**5**|« 5 »|p < .05|x=5|n = 100|α = 0.05|3σ|2π|'
        "5★|5±0.3|10^(-6)|C++17|f/2.8|rgb(255, 0, 0)"
    ),
    ("Call me at {}.", "Appelez-moi au {}."): (
        "+33 6 12 34 56 78|06 12 34 56 78|(555) 123-4567|+1 (555) 123-4567|555.0199|1-800-555-0199 ext. 5"
    ),
    ("I have the {} here.", "J'ai le {} ici."): (
        "4x4|2.13.0|0.85.x|16:9|No. 5|n° 5|A380|COVID-19|978-3-16-148410-0|48°51'24\"N|10:1|7/8|90's|7 j/7|12 bis|"
        "44 av. J.-C|U+2028|J+1|(2019)|m²|192.168.0.1/24|5 L/100 km|1º|48.8566° N|H₂O|1 000 000"
    ),
}
ADDRESSES = (
    "https://en.wikipedia.org/wiki/Foo_(bar)|https://a.org/a_(b_(c))?d=[e]&f={g}|http://[::1]:80/x|ftp://ftp.a.org/pub|git+ssh://a.org/b.git|"
    "file:///C:/a.txt|https://a.org/it’s|mailto:jo@a.org?subject=x|www.a.museum/x|o'brien@example.com|jo+news@a.co.uk|a%b@mail.example.museum|"
    "root@localhost|example.xyz|sub.domain.travel/path?x=1#y|example.com:8080|bücher.example|report.pdf|~/notes/a.txt|./x.py|../src/main.rs|"
    "/usr/local/bin|/etc/hosts|C:\\Users\\Tom\\a.txt|C:\\Program Files\\App\\x.exe|\\\\server\\share|src/xformer/main.py|<b>|</b>|<br/>|"
    '<a href="x y">|&nbsp;|{name}|{{ name }}|{0}|${HOME}|$HOME|%s|%(count)d|%1$s|%from%|`x = 1`|``a ` b``|'
    "@tom.smith|@tom@mastodon.social|#tag|#été-2024|"
    "snake_case|fe80::1:2|git@github.com:a/b.git|.gitignore|почта@пример.рф|jo@例え.jp|main()|obj.method()|std::vector|R&D|"
    "Ctrl+C|key=value|person(s)|ubuntu:22.04|$HOME/bin|%APPDATA%\\x|/users/{id}|/users/:id|__init__|:smile:|--verbose|--out=file|C++|C#|U.S.A.|"
    "n/a|I/O|$(pwd)|{# c #}|~jo/a|t.co/abc|(https://a.org)"
).split("|")
IN_SENTENCES = ("Please look at {} before you leave.", "Regardez {} avant de partir, s'il vous plaît.")
