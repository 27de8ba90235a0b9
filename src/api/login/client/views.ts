// One page, one view at a time. Each view is a section with a heading. Live regions announce messages to screen
// readers.

import { messageFor, UserMessage } from './wire.ts'

type LoginView = 'ways' | 'code' | 'link' | 'device' | 'wallet' | 'offer' | 'leaving' | 'account' | 'ask'
type CredentialView = 'credentials' | 'credentials-none' | 'prove' | 'new-pin' | 'code-shown' | 'code-check'
type View = LoginView | CredentialView | 'approvals' | 'consent' | 'granted' | 'revoke' | 'refused' | 'done'

const SECONDS_MS = 1_000
/** The longest time that a timer knows. A longer one, such as a gateway's Retry-After, is over at once. */
const TIMER_MAX_MS = 2 ** 31 - 1

export const element = <Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind => {
  const found = document.getElementById(id)
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`)
  return found
}

export const input = (id: string): HTMLInputElement => element(id, HTMLInputElement)

/** A code without the spaces, dashes and invisible marks of a keyboard, and with full-width digits made plain. */
export const typedCode = (typed: string): string =>
  typed.normalize('NFKC').replaceAll(/[\s\p{Pd}\p{Cf}\u2212\u30fc]/gu, '')

export const setText = (id: string, text: string): void => {
  element(id, HTMLElement).textContent = text
}

/** Shows or hides an element, if the page has it. */
export const toggle = (id: string, shown: boolean): void => {
  const found = document.getElementById(id)
  if (found !== null) found.hidden = !shown
}

export const dayOf = (instant: string): string =>
  new Date(instant).toLocaleDateString(undefined, { dateStyle: 'medium' })

const announce = (id: string, text: string): void => {
  setText(id, text)
  // On a phone the message may be outside of the visible part.
  if (text !== '') element(id, HTMLElement).scrollIntoView({ block: 'nearest' })
}

export const showStatus = (text: string): void => announce('status', text)

/** Shows an error at once, and marks the field that caused it. */
export const showProblem = (text: string, field?: HTMLInputElement): void => {
  announce('problem', text)
  if (field === undefined || text === '') return
  field.setAttribute('aria-invalid', 'true')
  field.setAttribute('aria-describedby', 'problem')
  field.focus()
  field.select()
}

/** Copies a code to the clipboard, and says so. */
export const copyCode = async (code: string, done: string): Promise<void> => {
  try {
    await navigator.clipboard.writeText(code)
  } catch {
    throw new UserMessage('The code could not be copied. Select it, and copy it by hand.')
  }
  showStatus(done)
}

const clearMessages = (): void => {
  showStatus('')
  showProblem('')
  for (const field of document.querySelectorAll('[aria-invalid]')) {
    field.removeAttribute('aria-invalid')
    field.removeAttribute('aria-describedby')
  }
}

/** Empties fields with a PIN or a code. @param within a selector; by default of the whole page. */
export const forgetSecrets = (within = ''): void => {
  for (const place of document.querySelectorAll<HTMLInputElement | HTMLOutputElement>(`${within} [data-secret]`)) {
    place.value = ''
  }
}

let viewEnd = new AbortController()

/** Goes to a view. @returns a signal for what belongs to that view and ends with it. */
export const show = (view: View): AbortSignal => {
  viewEnd.abort()
  viewEnd = new AbortController()
  clearMessages()
  for (const section of document.querySelectorAll<HTMLElement>('main > section')) section.hidden = section.id !== view
  forgetSecrets('section[hidden]')
  const section = element(view, HTMLElement)
  const first = section.querySelector<HTMLElement>('[data-focus]') ?? section.querySelector('h1')
  first?.focus()
  return viewEnd.signal
}

const running = new Set<HTMLElement>()

/** Runs the task of an element, unless it is running already, and shows its error. */
const attempt = async (
  by: HTMLElement,
  task: () => Promise<void> | void,
  { field }: { readonly field?: HTMLInputElement } = {},
): Promise<void> => {
  if (running.has(by)) return
  running.add(by)
  by.setAttribute('aria-busy', 'true')
  clearMessages()
  try {
    await task()
  } catch (error) {
    const other = error instanceof UserMessage && error.fieldId !== null ? input(error.fieldId) : field
    showProblem(messageFor(error), other)
  } finally {
    running.delete(by)
    by.removeAttribute('aria-busy')
  }
}

export const onPress = (id: string, task: () => Promise<void> | void): void => {
  const found = document.getElementById(id)
  found?.addEventListener('click', () => void attempt(found, task))
}

/** A button that runs a task: a small one beside its item if it has a label of its own. */
export const button = (input: {
  readonly text: string
  readonly label?: string
  readonly task: () => Promise<void> | void
}): HTMLButtonElement => {
  const press = document.createElement('button')
  press.type = 'button'
  press.textContent = input.text
  if (input.label !== undefined) {
    press.className = 'small'
    press.setAttribute('aria-label', input.label)
  }
  press.addEventListener('click', () => void attempt(press, input.task))
  return press
}

export const listItem = (text: string, action: Parameters<typeof button>[0] | null): HTMLLIElement => {
  const item = document.createElement('li')
  const span = document.createElement('span')
  span.textContent = text
  item.append(span)
  if (action !== null) item.append(button(action))
  return item
}

/** @param task gets what was typed into the form's one field. */
export const onSubmit = (formId: string, fieldId: string, task: (typed: string) => Promise<void>): void => {
  const form = document.getElementById(formId)
  form?.addEventListener('submit', (event) => {
    event.preventDefault()
    const field = input(fieldId)
    void attempt(form, () => task(field.value.trim()), { field })
  })
}

/** Resolves after a while, or at once when the signal ends it. */
export const pause = (seconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, Math.min(seconds * SECONDS_MS, TIMER_MAX_MS))
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
