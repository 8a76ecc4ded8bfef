// SPDX-License-Identifier: MIT
// The style sheet of the HTML report: light and dark by what the reader's system prefers, one column on a phone.
#pragma once

namespace quarkq::pipeline::html {

inline constexpr const char kStyle[] = R"css(
:root { color-scheme: light dark; --back: #f6f7f9; --card: #fff; --text: #1b1f24; --soft: #57606a; --line: #d8dee4; --fill: #2f6fb5;
  --good: #2d7d46; --fair: #b7791f; --bad: #c0392b; --track: #eaeef2; }
@media (prefers-color-scheme: dark) { :root { --back: #0e1116; --card: #171b22; --text: #e6e9ee; --soft: #9aa4b0; --line: #2c333d;
  --fill: #6aa7e8; --good: #5bbf7a; --fair: #e0a94a; --bad: #f0776a; --track: #252b34; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
main { max-width: 1080px; margin: 0 auto; padding: 16px; }
h1 { font-size: 1.5rem; margin: 8px 0 4px; }
h2 { font-size: 1.1rem; margin: 0 0 8px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px; margin: 14px 0; }
.note, figcaption { color: var(--soft); font-size: .87rem; margin: 0 0 8px; }
.verdict { font-size: 1.05rem; margin: 4px 0 8px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(170px, 1fr)); gap: 10px; margin: 14px 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; }
.tile b { display: block; font-size: 1.25rem; }
.tile.bad b, .finding.warning b { color: var(--bad); }
.tile.good b { color: var(--good); }
.row { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr) 6.5em; gap: 10px; align-items: center; padding: 2px 0; }
.name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.figure { text-align: right; font-variant-numeric: tabular-nums; }
svg { display: block; width: 100%; }
svg.bar { height: 12px; }
.track { fill: var(--track); } .fill { fill: var(--fill); } .good { fill: var(--good); } .fair { fill: var(--fair); } .bad { fill: var(--bad); }
.edge { stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 4 3; }
svg.columns { height: 140px; } svg.picture { border: 1px solid var(--line); }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 10px; margin-bottom: 14px; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(220px, 1fr)); gap: 14px; }
figure { margin: 0; } figure svg { background: var(--track); border-radius: 4px; } figcaption { margin-top: 4px; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: 4px 10px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; min-width: 4em; }
th { color: var(--soft); font-weight: 600; }
details { margin-top: 8px; } summary { cursor: pointer; color: var(--soft); }
.finding { padding: 4px 0; border-bottom: 1px solid var(--line); } .finding:last-child { border: 0; }
@media (max-width: 560px) { main { padding: 8px; } .row { grid-template-columns: 1fr 6.5em; } .row .bar { grid-column: 1 / 3; grid-row: 2; } }
)css";

}  // namespace quarkq::pipeline::html
