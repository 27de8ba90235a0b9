// A command without an environment is one for the stack of `bun run dev`, if one runs here: it writes the variables of
// a command into `cli.env` of its folder while it is ready. So a developer can try each command. An installation has no
// such file, and an operator has set ENVIRONMENT or DATABASE_URL.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Variables } from '../../platform/environment/variables.ts'

/** One of them is enough to show that the caller means another database. */
const OF_AN_INSTALLATION = ['ENVIRONMENT', 'DATABASE_URL']

const isSet = (variables: Variables, name: string): boolean => Boolean(variables[name]?.trim())

const readStack = (folder: string): Variables => {
  let text: string
  try {
    text = readFileSync(join(folder, 'cli.env'), 'utf8')
  } catch {
    return {}
  }
  const stack = Object.fromEntries(
    [...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  )
  return stack.ENVIRONMENT === 'testnet' && stack.DEVNET === 'true' ? stack : {}
}

/** @returns the variables of the process, and if they name no installation, those that only the dev stack has. */
export const withDevStack = (variables: Variables, note: (sentence: string) => void): Variables => {
  if (OF_AN_INSTALLATION.some((name) => isSet(variables, name))) return variables
  const folder = variables.DEV_DIR || '.dev'
  const stack = readStack(folder)
  if (!isSet(stack, 'ENVIRONMENT')) {
    if (existsSync(folder)) note(`ENVIRONMENT is not set, and no dev stack is ready in ${folder}.`)
    return variables
  }
  note(`ENVIRONMENT is not set, so this is for the dev stack of ${folder}.`)
  return { ...variables, ...Object.fromEntries(Object.entries(stack).filter(([name]) => !isSet(variables, name))) }
}
