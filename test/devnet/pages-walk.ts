// The walks with curl that pages show, typed into a shell as they are written, on a running dev stack.

import { expect } from 'bun:test'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { DevJson } from '../../devnet/dev-json.ts'

const WALKS = ['README.md', 'docs/contract-wallets.md', 'docs/users.md'] as const

/** The shell commands of the section "A walk with curl". */
const commandsOf = (page: (typeof WALKS)[number]): string => {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8')
  const section = /^## A walk with curl\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(text)?.[1] ?? ''
  return [...section.matchAll(/^( *)```sh\n([\s\S]*?)^ *```$/gm)]
    .map(([, indent = '', commands = '']) => commands.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
    .join('')
}

/** What a shell prints that is given all walks, one after the other. */
export const walkPages = async (dev: DevJson, devFolder: string): Promise<string> => {
  const commands = WALKS.map(commandsOf)
  for (const each of commands) expect(each).toContain('call ')
  const typed = commands
    .join('')
    .replaceAll('.dev/dev.json', `${devFolder}/dev.json`)
    .replaceAll('http://localhost:3000', dev.base_url)
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', typed], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const exit = await new Promise((resolve) => shell.once('close', resolve))
  expect({ exit, output }).toEqual({ exit: 0, output: expect.any(String) })
  return output
}
