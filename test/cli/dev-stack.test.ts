// Whose variables a command has: its own, or those of a dev stack that runs here.

import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withDevStack } from '../../src/operators/cli/dev-stack.ts'
import { sharedFolder } from '../support/shared.ts'

const folder = await sharedFolder('dev-stack')
const STACK = { ENVIRONMENT: 'testnet', DEVNET: 'true', DATABASE_URL: 'postgres://dev@127.0.0.1:5/s?a=b', PORT: '3000' }

const runs = (stack: Readonly<Record<string, string>>) =>
  writeFileSync(
    join(folder, 'cli.env'),
    Object.entries(stack)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  )

const given = (variables: Readonly<Record<string, string>>) => {
  const notes: string[] = []
  const result = withDevStack({ DEV_DIR: folder, ...variables }, (note) => notes.push(note))
  return { result, notes }
}

test('a command without an environment gets that of the stack, and says so', () => {
  runs(STACK)
  expect(given({ PATH: '/bin', ENVIRONMENT: ' ' })).toEqual({
    result: { DEV_DIR: folder, PATH: '/bin', ...STACK },
    notes: [`ENVIRONMENT is not set, so this is for the dev stack of ${folder}.`],
  })
})

test('a variable that is set stays', () => {
  runs(STACK)
  expect(given({ PORT: '3001' }).result).toMatchObject({ ...STACK, PORT: '3001' })
})

test.each(['ENVIRONMENT', 'DATABASE_URL'])('a command with %s has nothing of the stack', (name) => {
  runs(STACK)
  expect(given({ [name]: 'x' })).toEqual({ result: { DEV_DIR: folder, [name]: 'x' }, notes: [] })
})

test('variables of a mainnet, and of what is no dev stack, are never taken', () => {
  for (const change of [{ ENVIRONMENT: 'mainnet' }, { DEVNET: 'false' }, { ENVIRONMENT: '' }]) {
    runs({ ...STACK, ...change })
    expect(given({})).toEqual({
      result: { DEV_DIR: folder },
      notes: [`ENVIRONMENT is not set, and no dev stack is ready in ${folder}.`],
    })
  }
})

test('without the folder of a stack a command has its own variables alone', () => {
  const variables = { DEV_DIR: join(folder, 'none') }
  expect(given(variables)).toEqual({ result: variables, notes: [] })
})
