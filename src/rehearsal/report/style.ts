/** The report's style sheet. Colours are named by their meaning, once for light and once for dark. */

export const STYLE = `
:root{--ink:#1b2330;--muted:#5f6b7c;--page:#f4f6f9;--card:#fff;--edge:#e1e6ee;--grid:#e8ecf2;
--good:#0f7b4f;--goodsoft:#d9f2e5;--bad:#b3261e;--badsoft:#fbe1df;--orders:#12996a;--refusals:#4d7fd6;--later:#c77d0a;--errors:#cf3a30;--shadow:0 1px 2px rgb(20 30 50/.06),0 6px 24px rgb(20 30 50/.06)}
@media(prefers-color-scheme:dark){:root{--ink:#e8edf5;--muted:#9aa7b8;--page:#0f141b;--card:#171e28;--edge:#263140;--grid:#232d3a;
--good:#4fd49a;--goodsoft:#12382a;--bad:#ff8a80;--badsoft:#43201f;--orders:#35c98f;--refusals:#6f9df0;--later:#e5a33a;--errors:#ff6f64;--shadow:none}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;font-variant-numeric:tabular-nums}
main{max-width:1120px;margin:0 auto;padding:40px 20px 64px}
header{margin-bottom:28px}
.kicker{margin:0 0 10px;color:var(--muted);font-size:14px;letter-spacing:.02em}
h1{display:flex;align-items:center;gap:16px;margin:0;font-size:clamp(28px,5vw,44px);line-height:1.1;letter-spacing:-.02em}
.mark{display:grid;place-items:center;flex:none;width:1.35em;height:1.35em;border-radius:50%;font-size:.8em;background:var(--goodsoft);color:var(--good)}
.red .mark{background:var(--badsoft);color:var(--bad)}
.sentence{margin:14px 0 0;font-size:clamp(17px,2.2vw,21px);color:var(--muted);max-width:60em;overflow-wrap:anywhere}
.fault-line{margin:8px 0 0;color:var(--bad);font-weight:650}
.reasons{margin:16px 0 0;padding:14px 18px 14px 36px;border-radius:12px;background:var(--badsoft);color:var(--ink);overflow-wrap:anywhere}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:1px;margin:0 0 20px;background:var(--edge);border:1px solid var(--edge);border-radius:16px;overflow:hidden;box-shadow:var(--shadow)}
.figures div{background:var(--card);padding:18px 18px 16px}
.figures dt{color:var(--muted);font-size:13px}
.figures dd{margin:2px 0 0}
.figures strong{display:block;font-size:28px;line-height:1.2;letter-spacing:-.02em;font-weight:650;white-space:nowrap}
.figures span{color:var(--muted);font-size:13px}
.card{background:var(--card);border:1px solid var(--edge);border-radius:16px;padding:20px 22px;box-shadow:var(--shadow);min-width:0}
.wide,.pair{margin-bottom:20px}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:20px}
h2{margin:0;font-size:17px;letter-spacing:-.01em}
.hint{margin:2px 0 12px;color:var(--muted);font-size:14px}
svg{display:block;width:100%;height:auto}
svg text{fill:var(--muted);font-size:12px}
svg .axis{font-size:11px}
.grid{stroke:var(--grid)}.tick,.base{stroke:var(--edge)}.base{stroke-width:1.5}
.opening path{stroke:var(--muted);stroke-dasharray:2 4}.fault path{stroke:var(--errors);stroke-width:1.5}svg .fault text{fill:var(--errors);font-weight:650}
.line{fill:none;stroke-width:2;stroke-linejoin:round}
.line.clicks{stroke:var(--ink);stroke-dasharray:5 4;stroke-width:1.5}
.line.orders{stroke:var(--orders)}.line.refusals{stroke:var(--refusals)}.line.later{stroke:var(--later)}.line.errors{stroke:var(--errors)}
.area.orders{fill:var(--orders)}.area.refusals{fill:var(--refusals);fill-opacity:.75}.area.later{fill:var(--later)}.area.errors{fill:var(--errors)}
.pair .area{fill-opacity:.16}
.funnel{fill:var(--refusals);fill-opacity:.22}.f1{fill-opacity:.32}.f2{fill:var(--orders);fill-opacity:.3}.f3{fill:var(--orders);fill-opacity:.5}.f4{fill:var(--orders);fill-opacity:.65}
svg .count{fill:var(--ink);font-size:18px;font-weight:650}svg .step{font-size:12px;fill:var(--ink)}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;margin:0 0 8px;padding:0;list-style:none;font-size:13px;color:var(--muted)}
.legend li::before{content:"";display:inline-block;width:12px;height:12px;margin-right:7px;border-radius:4px;vertical-align:-1px;background:var(--refusals)}
.legend .orders::before{background:var(--orders)}.legend .later::before{background:var(--later)}.legend .errors::before{background:var(--errors)}
.legend .clicks::before{height:0;border-top:2px dashed var(--ink);border-radius:0;background:none;vertical-align:4px;width:18px}
table{width:100%;border-collapse:collapse;font-size:14px}
th{font-weight:400;text-align:left}td{text-align:right}
th,td{padding:8px 0;border-top:1px solid var(--edge);vertical-align:top}
tr:first-child>*{border-top:0}
.kept td{color:var(--good)}.kept td::before{content:"✓ "}.broken td{color:var(--bad)}.broken td::before{content:"✕ "}
.settings th{color:var(--muted);width:8em}.settings td{text-align:left;overflow-wrap:anywhere}
@media(max-width:700px){.card{overflow-x:auto}.card svg{min-width:560px}.wide svg{min-width:900px}}
@media print{body{background:#fff}.card,.figures{box-shadow:none;break-inside:avoid}}
`
