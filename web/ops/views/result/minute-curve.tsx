/** The first minute of a sale as sixty bars: units reserved in each second. The same is in words, for who can't see it. */

import { formatCount, formatTime } from '../../format.ts'
import type { SaleResult } from '../../shapes.ts'
import { resultWords } from '../../words/result.ts'

const WIDTH = 600
const HEIGHT = 140

export function MinuteCurve({ minute }: { readonly minute: NonNullable<SaleResult['firstMinute']> }) {
  const text = resultWords()
  const { seconds } = minute
  const most = Math.max(1, ...seconds.map(({ units }) => units))
  const sum = (of: 'orders' | 'units') => seconds.reduce((total, second) => total + second[of], 0)
  const top = seconds.findIndex(({ units }) => units === most)
  const step = WIDTH / seconds.length
  const said = text.minuteNote(formatCount(sum('orders')), formatCount(sum('units')), formatTime(minute.from))
  return (
    <figure class="card minute" data-minute={sum('units')}>
      <h2>{text.minute}</h2>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={said}>
        {seconds.map(({ orders, units }, second) => {
          const height = units === 0 ? 0 : Math.max(2, (units / most) * HEIGHT)
          return (
            <rect key={`${second}`} x={second * step + 1} y={HEIGHT - height} width={step - 2} height={height} rx="1.5">
              <title>{text.secondOf(`${second + 1}`, formatCount(orders), formatCount(units))}</title>
            </rect>
          )
        })}
      </svg>
      <div class="minute-axis" aria-hidden="true">
        {['0 s', '15 s', '30 s', '45 s', '60 s'].map(tick => (
          <span key={tick}>{tick}</span>
        ))}
      </div>
      <figcaption class="hint">
        {said} {top >= 0 && text.minuteMost(formatCount(most), `${top + 1}`)}
      </figcaption>
    </figure>
  )
}
