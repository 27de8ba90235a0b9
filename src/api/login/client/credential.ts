// The credential that the user types on this page, or that a passkey computes. It goes only to the service.

import type { Page } from './page.ts'
import { knowsPasskeys, passkeySecret } from './passkeys.ts'
import { element, input, onPress, onSubmit, setText, toggle, typedCode } from './views.ts'
import { isRefusal, UserMessage } from './wire.ts'

/** The part of a request's body that proves that the user agrees. */
export type Credential = { readonly user_pin: string } | { readonly user_secret: string }

type Task = (credential: Credential) => Promise<void>

type Kind = {
  readonly label: string
  readonly other: string
  readonly field: Pick<HTMLInputElement, 'type' | 'inputMode' | 'autocomplete' | 'maxLength' | 'className'>
  /** @throws UserMessage for what cannot be right. */
  readonly read: (typed: string) => Credential
  readonly wrong: string | null
}

const PIN: Kind = {
  label: 'PIN of your wallet',
  other: 'Use your recovery code',
  field: { type: 'password', inputMode: 'numeric', autocomplete: 'one-time-code', maxLength: 6, className: 'digits' },
  read: (typed) => {
    const pin = typedCode(typed)
    if (!/^[0-9]{6}$/.test(pin)) throw new UserMessage('Your PIN has six digits.')
    return { user_pin: pin }
  },
  wrong: null,
}

const CODE: Kind = {
  label: 'Recovery code of your wallet',
  other: 'Use the PIN',
  field: { type: 'text', inputMode: 'text', autocomplete: 'off', maxLength: 64, className: '' },
  read: (typed) => {
    const bare = typedCode(typed)
    if (!/^[0-9A-Za-z]{32}$/.test(bare)) throw new UserMessage('Your recovery code has 32 letters and digits.')
    return { user_secret: bare }
  },
  wrong: 'That recovery code is wrong. A newer one may have replaced it.',
}

const WRONG_PASSKEY = 'This passkey does not open your wallet. Use the PIN or your recovery code.'

/** The mistake is in what the user typed, and not in the app's request. */
export const isMistyped = (error: unknown): boolean =>
  isRefusal(error, 'invalid_input') && error.message.startsWith('Field "user_secret"')

const readable = (error: unknown, wrong: string | null): unknown => {
  if (isMistyped(error))
    return new UserMessage('There is a typing error in the recovery code. Compare it letter by letter.')
  return wrong !== null && isRefusal(error, 'INVALID_SECRET') ? new UserMessage(wrong) : error
}

/** The user corrects something on the page, and does not type the credential again. */
const isCorrectable = (error: unknown): boolean =>
  isMistyped(error) || isRefusal(error, 'INVALID_SECRET') || error instanceof UserMessage

/** The field is emptied, unless the user only has something to correct. */
const submit = async (field: HTMLInputElement, kind: Kind, task: Task): Promise<void> => {
  const credential = kind.read(field.value.trim())
  try {
    await task(credential)
    field.value = ''
  } catch (error) {
    if (!isCorrectable(error)) field.value = ''
    throw readable(error, kind.wrong)
  }
}

/** Runs a task with what the user types or a passkey computes. @returns what changes the kind of the field. */
export const onCredential = (
  page: Page,
  formId: string,
  fieldId: string,
  task: Task,
): ((wanted: 'pin' | 'code') => void) => {
  let kind = PIN
  const pinLabel = document.getElementById(`${fieldId}-label`)?.textContent ?? PIN.label
  onSubmit(formId, fieldId, () => submit(input(fieldId), kind, task))
  const become = (next: Kind): void => {
    kind = next
    const field = input(fieldId)
    field.value = ''
    Object.assign(field, kind.field)
    setText(`${fieldId}-label`, kind === PIN ? pinLabel : kind.label)
    setText(`${fieldId}-other`, kind.other)
  }
  onPress(`${fieldId}-other`, () => {
    become(kind === PIN ? CODE : PIN)
    input(fieldId).focus()
  })
  const use = (wanted: 'pin' | 'code'): void => become(wanted === 'pin' ? PIN : CODE)
  const { rpId, projectId } = page
  if (rpId === null || !knowsPasskeys()) return use
  toggle(`${fieldId}-passkey`, true)
  onPress(`${fieldId}-passkey`, async () => {
    const user_secret = await passkeySecret({ projectId, rpId })
    await task({ user_secret }).catch((error: unknown) => {
      throw readable(error, WRONG_PASSKEY)
    })
    element(formId, HTMLFormElement).reset()
  })
  return use
}
