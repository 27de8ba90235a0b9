// The text of a function, as Solidity writes it without keywords: `place((address maker, uint8 amount)[] orders,
// bytes)`. The signature of a function is this text without names.

import type { AbiInput, AbiItem } from '../chain.ts'
import { chooseNames, parseLayout } from './abi-types.ts'

const IDENTIFIER = /[A-Za-z_$][A-Za-z0-9_$]*/y
const OPENING = /\(/y
const CLOSING = /\)/y
const COMMA = /, ?/y
const WORD = /[a-z]+[0-9]*/y
const ARRAYS = /(?:\[[0-9]*\])*/y
const NAME = /(?: [A-Za-z_$][A-Za-z0-9_$]*)?/y

class Malformed extends Error {}

type Cursor = { readonly text: string; at: number }

/** Reads what the pattern matches at the cursor, and moves the cursor behind it; null if it does not match. */
const taken = (cursor: Cursor, pattern: RegExp): string | null => {
  pattern.lastIndex = cursor.at
  const [found] = pattern.exec(cursor.text) ?? []
  if (found === undefined) return null
  cursor.at += found.length
  return found
}

const take = (cursor: Cursor, pattern: RegExp): string => {
  const found = taken(cursor, pattern)
  if (found === null) throw new Malformed()
  return found
}

const takeInput = (cursor: Cursor): AbiInput => {
  const word = taken(cursor, WORD)
  const components = word === null ? takeInputs(cursor) : null
  const type = `${word ?? 'tuple'}${take(cursor, ARRAYS)}`
  const name = take(cursor, NAME).trimStart()
  return components === null ? { name, type } : { name, type, components }
}

const takeInputs = (cursor: Cursor): readonly AbiInput[] => {
  take(cursor, OPENING)
  const inputs: AbiInput[] = []
  while (taken(cursor, CLOSING) === null) {
    if (inputs.length > 0) take(cursor, COMMA)
    inputs.push(takeInput(cursor))
  }
  return inputs
}

/** null for a text that is not a declaration, or has types that the ABI lacks. Pure. */
export const parseDeclaration = (text: string): AbiItem | null => {
  const cursor = { text, at: 0 }
  try {
    const item = { name: take(cursor, IDENTIFIER), inputs: takeInputs(cursor) }
    return cursor.at === text.length && item.inputs.every((input) => parseLayout(input) !== null) ? item : null
  } catch (error) {
    if (error instanceof Malformed) return null
    throw error
  }
}

const inputText = ({ name, type, components }: AbiInput): string => {
  const typeText = components === undefined ? type : `${inputsText(components)}${type.slice('tuple'.length)}`
  return name === '' ? typeText : `${typeText} ${name}`
}

const inputsText = (inputs: readonly AbiInput[]): string => `(${inputs.map(inputText).join(', ')})`

export const writeDeclaration = ({ name, inputs }: AbiItem): string => `${name}${inputsText(inputs)}`

/**
 * The inputs with the names on which all declarations agree, without leading underscores; '' for all other inputs. The
 * declarations have one signature. Pure.
 */
export const agreedInputs = (declarations: readonly (readonly AbiInput[])[]): readonly AbiInput[] => {
  const names = declarations.map(chooseNames)
  return (declarations[0] ?? []).map(({ type, components }, index) => {
    const [name = '', ...others] = new Set(names.map((each) => each[index] ?? ''))
    const isAgreed = others.length === 0 && !/^[0-9]/.test(name)
    return {
      name: isAgreed ? name : '',
      type,
      ...(components && { components: agreedInputs(declarations.map((each) => each[index]?.components ?? [])) }),
    }
  })
}
