/** How the buyer wants to pay: a group of radio buttons, used by mouse, touch, keyboard and screen reader alike. */

import { useId } from 'preact/hooks'
import { type PayChoice, sameChoice } from '../../buy/pay-choices.ts'
import { namesOf, paymentWords } from '../../words/payment.ts'

interface Props {
  readonly choices: readonly PayChoice[]
  readonly chosen: PayChoice
  /** What is being asked for can't be changed. */
  readonly busy: boolean
  readonly onChoose: (choice: PayChoice) => void
}

export function PayChoiceGroup({ choices, chosen, busy, onChoose }: Props) {
  const text = paymentWords()
  const group = useId()
  const names = namesOf(choices)
  return (
    <fieldset class="pay-choices" disabled={busy}>
      <legend>{text.how}</legend>
      {choices.map((choice, index) => (
        <label key={`${choice.provider} ${choice.method}`} class="pay-choice">
          <input
            type="radio"
            name={group}
            value={`${choice.provider} ${choice.method}`}
            checked={sameChoice(choice, chosen)}
            onChange={() => onChoose(choice)}
          />
          <span class="pay-choice-words">
            <span class="pay-choice-name">{names[index]}</span>
            <span class="note">{choice.qr ? text.scanHint : text.pageHint}</span>
          </span>
        </label>
      ))}
    </fieldset>
  )
}
