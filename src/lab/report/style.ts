/** The complete style of a report, which loads no external files. */
export const STYLE = `
:root { color-scheme: light dark; --paper: #fff; --soft: #f5f6f8; --line: #d8dce3; --ink: #1a1f29; --faint: #5b6474;
  --good: #136c3a; --good-soft: #e4f4ea; --bad: #ae1f23; --bad-soft: #fdeaea; --phase: #eef1f6; --phase-odd: #e2e7ef;
  --c1: #1f5fbf; --c2: #0c7a6f; --c3: #9a4fb8; --c4: #a65a00; --c5: #53627c; --c6: #8c3b5d; --dr: #a65a00; --perf: #1f5fbf; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171d; --soft: #1c2129; --line: #363d49; --ink: #e7eaf0;
  --faint: #a2abba; --good: #6fd39a; --good-soft: #17301f; --bad: #ff8f8c; --bad-soft: #3b1b1d; --phase: #1d232d;
  --phase-odd: #262e3a; --c1: #7fb0ff; --c2: #57cdbf; --c3: #d49bea; --c4: #f0ac5c; --c5: #a9b6cc; --c6: #e59ab9;
  --dr: #f0ac5c; --perf: #7fb0ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto,
  "Liberation Sans", "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums; }
main { max-width: 972px; margin: 0 auto; padding: 40px 26px 64px; }
h1, h2, h3, p, ul, ol, dl, dd, figure { margin: 0; padding: 0; }
h1 { font-size: 30px; line-height: 1.2; letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { font-size: 20px; line-height: 1.3; margin: 48px 0 14px; padding-top: 14px; border-top: 1px solid var(--line); }
h3 { font-size: 15px; line-height: 1.4; }
.kicker, .meta, figcaption, .note, dt, th { color: var(--faint); font-size: 14px; }
.kicker { margin-bottom: 4px; }
.purpose { margin-top: 10px; max-width: 68ch; }
.meta { margin-top: 8px; }
.verdict { display: inline-block; margin-top: 18px; padding: 4px 14px; border-radius: 5px; font-weight: 650; font-size: 18px; }
.passed { color: var(--good); background: var(--good-soft); }
.failed, .error { color: var(--bad); background: var(--bad-soft); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: 14px; margin-top: 22px; }
.figures > div { border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px; }
.figures strong { display: block; font-size: 34px; line-height: 1.2; letter-spacing: -.02em; font-weight: 650; white-space: nowrap; }
.figures .bad strong, .bad-text { color: var(--bad); }
.figures .good strong, .good-text { color: var(--good); }
.figures p { font-size: 14px; color: var(--faint); }
.checks { list-style: none; }
.checks > li { display: grid; grid-template-columns: 84px 1fr; gap: 4px 14px; padding: 10px 0; border-bottom: 1px solid var(--line); }
.checks > li > b { font-weight: 650; }
.checks ul { list-style: none; color: var(--faint); font-size: 14px; grid-column: 2; }
.checks li, td, code, pre { overflow-wrap: anywhere; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(330px, 1fr)); gap: 28px; }
figure + figure { margin-top: 30px; } .pair figure + figure { margin-top: 0; }
figure svg { display: block; max-width: 100%; height: auto; margin: 8px 0; overflow: visible; } svg.narrow { display: none; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 18px; font-size: 14px; margin-top: 4px; }
.legend svg { display: inline-block; margin: 0 6px 0 0; vertical-align: middle; }
text { fill: var(--ink); font-size: 13px; font-family: inherit; } .tick, .state { fill: var(--faint); font-size: 12px; }
.name { font-size: 16px; font-weight: 650; } .role { font-size: 12.5px; }
.axis { stroke: var(--faint); fill: none; } .grid { stroke: var(--line); fill: none; stroke-width: .7; }
.phase { fill: var(--phase); } .phase-odd { fill: var(--phase-odd); } .phase-bad { fill: var(--bad-soft); }
.outage { fill: var(--bad); opacity: .13; }
.curve { fill: none; stroke-width: 2; stroke-linejoin: round; }
.curve-1 { stroke: var(--c1); } .curve-2 { stroke: var(--c2); stroke-dasharray: 7 3; } .curve-3 { stroke: var(--c3); stroke-dasharray: 2 3; }
.curve-4 { stroke: var(--c4); stroke-dasharray: 9 3 2 3; } .curve-5 { stroke: var(--c5); stroke-dasharray: 12 4; } .curve-6 { stroke: var(--c6); }
.curve-bad { stroke: var(--bad); stroke-width: 2.4; }
.bar { fill: var(--c1); } .bar-bad { fill: var(--bad); } .event { stroke: var(--ink); stroke-width: 1.2; }
.box { fill: var(--paper); stroke: var(--faint); stroke-width: 1.2; } .box-primary { stroke: var(--ink); stroke-width: 2.6; fill: var(--soft); }
  .box-silent { stroke-dasharray: 4 3; stroke: var(--bad); }
.link-cut { opacity: .45; } .link { fill: none; stroke-width: 2; } .link-dr { stroke: var(--dr); stroke-dasharray: 6 3; } .link-performance { stroke: var(--perf); }
.head { stroke: none; } .head.link-dr { fill: var(--dr); } .head.link-performance { fill: var(--perf); }
.steps { list-style: none; counter-reset: step; }
.steps > li { counter-increment: step; padding: 12px 0 12px 38px; border-bottom: 1px solid var(--line); position: relative; }
.steps > li::before { content: counter(step); position: absolute; left: 0; top: 12px; width: 26px; text-align: right; color: var(--faint); }
.steps h3 { display: flex; flex-wrap: wrap; gap: 0 14px; justify-content: space-between; } .steps h3 span { font-weight: 400; color: var(--faint); }
pre { margin: 8px 0 0; padding: 9px 12px; background: var(--soft); border-radius: 6px; white-space: pre-wrap; }
pre, code { font: 13px/1.55 ui-monospace, SFMono-Regular, Menlo, "Liberation Mono", "DejaVu Sans Mono", monospace; }
table { border-collapse: collapse; width: 100%; font-size: 14px; } th { text-align: left; font-weight: 400; }
th, td { padding: 5px 16px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td, th { white-space: nowrap; } td.long { white-space: normal; width: 60%; } pre span { display: inline-block; max-width: 100%; }
details { margin-top: 10px; } summary { cursor: pointer; font-size: 14px; color: var(--faint); padding: 4px 0; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 4px 20px; } .facts dd { overflow-wrap: anywhere; }
footer { margin-top: 48px; color: var(--faint); font-size: 14px; }
@media (max-width: 700px) { main { padding: 24px 18px 48px; } h1 { font-size: 25px; } svg.wide { display: none; } svg.narrow { display: block; }
  .checks > li { grid-template-columns: 1fr; gap: 0; } .checks ul { grid-column: 1; } .facts { grid-template-columns: 1fr; gap: 0; }
  .facts dd { margin-bottom: 8px; } .steps > li { padding-left: 30px; } .steps > li::before { width: 20px; } .figures { gap: 10px; grid-template-columns: 1fr 1fr; }
  thead { display: none; } tr { display: flex; flex-wrap: wrap; gap: 0 14px; padding: 7px 0; border-bottom: 1px solid var(--line); }
  td, td.long { border: 0; padding: 0; width: auto; white-space: normal; } td:empty { display: none; } td.long { flex-basis: 100%; }
  td::before { content: attr(data-head) " "; color: var(--faint); }
  .figures > div { padding: 10px 12px; } .figures strong { font-size: 26px; } }
@media print { :root { color-scheme: light; } body { font-size: 12px; } main { max-width: none; padding: 0; } h2 { break-after: avoid; }
  figure, .figures, .steps > li, .checks > li { break-inside: avoid; } details::details-content { content-visibility: visible; block-size: auto; }
  summary { display: none; } .passed, .failed, .error, .phase, .phase-odd, .bar { print-color-adjust: exact; } }
`
