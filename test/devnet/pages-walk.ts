// The walks with curl that pages show, typed into a shell as they are written, on a running dev stack.

import { expect } from 'bun:test'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const WALKS = ['README.md', 'docs/contract-wallets.md', 'docs/users.md'] as const

/** The shell commands of the section "A walk with curl". */
const commandsOf = (page: (typeof WALKS)[number]): string => {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8')
  const section = /^## A walk with curl\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(text)?.[1] ?? ''
  return [...section.matchAll(/^( *)```sh\n([\s\S]*?)^ *```$/gm)]
    .map(([, indent = '', commands = '']) => commands.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
    .join('')
}

/**
 * What a shell prints that is given all walks exactly as they are written, one after the other.
 * @param devFolder of the running stack; the walks expect it as `.dev` in the working directory.
 */
export const walkPages = async (devFolder: string): Promise<string> => {
  const commands = WALKS.map(commandsOf)
  for (const each of commands) expect(each).toContain('call ')
  const cwd = await mkdtemp(join(tmpdir(), 'strongroom-walk-'))
  await symlink(devFolder, join(cwd, '.dev'))
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', commands.join('')], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const exit = await new Promise((resolve) => shell.once('close', resolve))
  await rm(cwd, { recursive: true })
  expect({ exit, output }).toEqual({ exit: 0, output: expect.any(String) })
  return output
}
