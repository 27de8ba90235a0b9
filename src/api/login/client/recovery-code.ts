// A new recovery code: it is shown, and the user proves that they have kept it by typing two of its groups. Until then
// it is in a variable of this page, and in the page itself only while it is shown.

import { copyCode, element, input, onPress, onSubmit, setText, show, typedCode } from './views.ts'
import { UserMessage } from './wire.ts'

const GROUPS = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth'] as const
const HALF = GROUPS.length / 2

type Asked = {
  readonly code: string
  /** Places of two groups, one in each half. */
  readonly places: readonly [number, number]
  readonly onKept: () => Promise<void>
}

let asked: Asked | null = null

const chance = (): number => (crypto.getRandomValues(new Uint8Array(1))[0] ?? 0) % HALF

/** As the service reads it: in capitals, and without what a person may have taken for another letter. */
const plain = (typed: string): string =>
  typedCode(typed).toUpperCase().replaceAll(/[1I]/g, 'L').replaceAll('O', '0').replaceAll('B', '8')

const look = ({ code }: Asked): void => {
  element('recovery-code', HTMLOutputElement).value = code
  show('code-shown')
}

/** Shows a code once. @param onKept is called when the user has shown that they have kept it. */
export const showCode = (code: string, onKept: Asked['onKept']): void => {
  asked = { code, places: [chance(), HALF + chance()], onKept }
  look(asked)
}

const check = async (typed: string): Promise<void> => {
  if (asked === null) return
  const { code, places, onKept } = asked
  const groups = code.split('-')
  if (plain(typed) !== places.map((place) => groups[place]).join('')) {
    throw new UserMessage(
      'These are not the two groups. Look at the code again, and correct what you have written down.',
    )
  }
  await onKept()
  asked = null
}

export const forgetCode = (): void => {
  asked = null
}

export const offerCode = (): void => {
  onPress('code-copy', () =>
    copyCode(asked?.code ?? '', 'The code is copied. Delete it from the clipboard when you have kept it.'),
  )
  onPress('code-print', () => window.print())
  onPress('code-kept', () => {
    if (asked === null) return
    const [first, second] = asked.places
    setText('code-check-label', `Type the ${GROUPS[first]} and the ${GROUPS[second]} group`)
    show('code-check')
    input('code-check-field').focus()
  })
  onPress('code-look', () => {
    if (asked !== null) look(asked)
  })
  onSubmit('code-check-form', 'code-check-field', check)
}
