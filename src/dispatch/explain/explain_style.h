// The style of the page that explains a program: light and dark, wide and narrow.
#pragma once

#include <string_view>

namespace felsite::dispatch {

// On a narrow screen a list of the same steps replaces the picture; on a wide one the list is for
// those who cannot see the picture.
inline constexpr std::string_view kExplainStyle = R"(
:root{color-scheme:light dark;--bg:#fbfaf8;--card:#fff;--ink:#1f2328;--soft:#667079;--line:#d9d6cf;
--lane:#b9b5ab;--read:#1668b8;--write:#c2570c;--atomic:#8a3ab9;--spill:#7a4fc4;--band:#7a4fc41a;
--barrier:#b3261e;--box:#eef3f8;--edge:#9db4c8;--pill:#fdecea;--if:#2e7d4f}
@media (prefers-color-scheme:dark){:root{--bg:#15171a;--card:#1d2024;--ink:#e7e4de;--soft:#9aa1a8;
--line:#34383d;--lane:#53585f;--read:#6cb2f5;--write:#f0954a;--atomic:#cf8df0;--spill:#b596f2;
--band:#b596f221;--barrier:#f28b82;--box:#232b33;--edge:#4b6175;--pill:#3a2422;--if:#72c795}}
*{box-sizing:border-box}
body{margin:0 auto;padding:28px 24px 60px;max-width:1400px;background:var(--bg);
color:var(--ink);font:15px/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
h1{margin:0;font-size:26px}h2{margin:34px 0 10px;font-size:18px}p{margin:6px 0;max-width:80ch}
.sub{color:var(--soft)}
.routes{display:flex;flex-wrap:wrap;gap:8px;margin:16px 0 4px;padding:0;list-style:none}
.routes li{padding:3px 14px;border:1px solid var(--line);border-radius:99px;color:var(--soft)}
.routes li.taken{background:var(--read);border-color:var(--read);color:var(--bg);font-weight:600}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:4px 18px;margin:16px 0}
.facts dt{color:var(--soft)}.facts dd{margin:0;max-width:90ch}
.scroll{overflow-x:auto;max-width:100%}
.picture{max-height:90vh;overflow:auto;border:1px solid var(--line)}
.lanes{position:sticky;top:0;width:max-content;background:var(--bg);border-bottom:1px solid var(--line);z-index:1}
.beside{display:grid;grid-template-columns:minmax(0,1fr);gap:8px 24px;align-items:start}
.beside section{min-width:0}
@media (min-width:1100px){.beside.two{grid-template-columns:minmax(0,1fr) fit-content(68%)}}
.source{margin:0;padding:8px 0;max-height:90vh;overflow:auto;background:var(--card);border:1px solid var(--line);
font:13px/1.5 ui-monospace,"DejaVu Sans Mono",monospace;list-style:none}
.source li{display:flex;width:max-content;min-width:100%;white-space:pre}
.source .of{flex:none;width:4.5em;padding-right:10px;text-align:right;color:var(--soft)}
.source .no{flex:none;width:3em;padding-right:12px;text-align:right;color:var(--soft)}
.source .odd{background:var(--box)}
.source .cut{color:var(--barrier);font-weight:600}
svg{display:block}
.legend{width:0;min-width:100%;padding:0;list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;max-width:none;font-size:13px;color:var(--soft)}
.legend li{display:inline-flex;align-items:center;gap:6px}
table{border-collapse:collapse;background:var(--card);border:1px solid var(--line);font-size:14px}
th,td{padding:5px 12px;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
th{color:var(--soft);font-weight:600}td.number{font-variant-numeric:tabular-nums}
code{font:13px ui-monospace,"DejaVu Sans Mono",monospace}
.bars{display:grid;grid-template-columns:max-content minmax(240px,620px) max-content;gap:8px 14px;
align-items:center}
.steps,.steps ol{margin:0;padding:0;list-style:none}
.steps ol{margin:4px 0 4px 6px;padding-left:10px;border-left:2px solid var(--ink)}
.steps .if>ol{border-left:2px dashed var(--if)}
.steps li{margin:4px 0}
.steps .segment{padding:6px 10px;background:var(--box);border:1px solid var(--edge);border-radius:6px;overflow-wrap:anywhere}
.steps .between{color:var(--barrier);font-size:13px;overflow-wrap:anywhere}
.steps .within{color:var(--soft);font-size:13px}
@media (min-width:700px){.steps{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}}
@media (max-width:699px){body{padding:16px 12px 40px}.drawing{display:none}
.facts{grid-template-columns:minmax(0,1fr)}.facts dt{margin-top:6px}.facts dd{overflow-wrap:anywhere}
.bars{grid-template-columns:minmax(0,1fr)}h1,.sub{overflow-wrap:anywhere}}
.bar{display:flex;height:20px;background:var(--line);border-radius:4px;overflow:hidden}
.bar i{display:block;height:100%}i.up{background:var(--read)}i.down{background:var(--write)}
b.up{color:var(--read)}b.down{color:var(--write)}
text{font:13px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
text.small{font-size:12px;fill:var(--soft)}text.tiny{font-size:11px;fill:var(--soft);text-anchor:middle}
text.lane{text-anchor:middle;font-weight:600}text.spill,text.spilled{fill:var(--spill)}
text.control{fill:var(--soft)}text.name{font-weight:600}.number{fill:var(--soft)}
text.launches{text-anchor:end;fill:var(--soft)}
text.title{font-weight:600;paint-order:stroke;stroke:var(--bg);stroke-width:5px}
text.if{fill:var(--if)}
text.barrier{font-size:12px;fill:var(--barrier);paint-order:stroke;stroke:var(--bg);stroke-width:6px}
text.pill{font-size:11px;font-weight:600;text-anchor:middle;fill:var(--barrier)}
rect.pill{fill:var(--pill);stroke:var(--barrier)}
rect.box{fill:var(--box);stroke:var(--edge)}rect.empty{fill:none;stroke-dasharray:3 3}
rect.band{fill:var(--band)}
line.lane{stroke:var(--lane);stroke-width:1.5}line.spill{stroke:var(--spill);stroke-dasharray:5 4}
line.control{stroke-dasharray:1 4}line.reach{stroke:var(--edge)}
line.barrier{stroke:var(--barrier);stroke-width:1.5;stroke-dasharray:7 4}
line.native{stroke:var(--soft);stroke-width:1.5;stroke-dasharray:2 3}
text.native{paint-order:stroke;stroke:var(--bg);stroke-width:6px}
path.bracket{fill:none;stroke:var(--ink);stroke-width:1.5}
path.if{stroke:var(--if);stroke-dasharray:4 3}
.read{fill:var(--bg);stroke:var(--read);stroke-width:2.5}.write{fill:var(--write)}
.inner{fill:var(--bg)}.atomic{fill:var(--atomic)}
.length{fill:var(--bg);stroke:var(--read);stroke-width:1.5}.carried{fill:var(--lane)}
)";

}  // namespace felsite::dispatch
