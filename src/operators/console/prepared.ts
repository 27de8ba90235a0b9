// What an action says before it is done, and the fields that it is made of.

import { AppError } from '../../platform/errors.ts'
import { UUID } from '../../platform/http/text.ts'
import type { ConsoleCtx } from './context.ts'

export type Fields = ReadonlyMap<string, string>

/** An action with its parameters, read from a query or a form. */
export type Prepared = {
  readonly title: string
  readonly sentences: readonly string[]
  readonly button: string
  /** What the operator must write; null: nothing. */
  readonly asks: 'reason' | null
  /** What the form repeats. */
  readonly fields: Readonly<Record<string, string>>
  /** The page to go back to. */
  readonly back: string
  /** @returns what was done, as a sentence. */
  readonly run: (ctx: ConsoleCtx, of: { readonly actor: string; readonly reason: string }) => Promise<string>
}

/** @throws invalid_input */
export const idIn = (fields: Fields, name: string): string => {
  const id = fields.get(name) ?? ''
  if (!UUID.test(id)) throw new AppError('invalid_input', `Field "${name}" must be a UUID.`)
  return id.toLowerCase()
}

/** @throws invalid_input */
export const textIn = (fields: Fields, name: string): string => {
  const text = fields.get(name)?.trim() ?? ''
  if (text === '' || text.length > 256) throw new AppError('invalid_input', `Field "${name}" must not be empty.`)
  return text
}
