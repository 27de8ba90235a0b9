// The walks with curl that pages show, typed into a shell as they are written.

import { expect } from 'bun:test'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const WALKS = ['README.md', 'docs/contract-wallets.md', 'docs/users.md'] as const

/** The blocks of shell commands of the section "A walk with curl". */
const blocksOf = (page: (typeof WALKS)[number]): readonly string[] => {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8')
  const section = /^## A walk with curl\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(text)?.[1] ?? ''
  const blocks = [...section.matchAll(/^( *)```sh\n([\s\S]*?)^ *```$/gm)].map(([, indent = '', commands = '']) =>
    commands.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )
  expect(blocks.join('')).toContain('call ')
  return blocks
}

type Shell = {
  readonly args: readonly string[]
  readonly commands: readonly string[]
  /** What to do with the empty folder in which the shell starts. */
  readonly prepare?: (folder: string) => Promise<void>
  readonly devFolder?: string
}

/** Gives commands to a shell. @returns what it prints, when it has ended. */
const typed = async ({ args, commands, prepare, devFolder }: Shell) => {
  const cwd = await mkdtemp(join(tmpdir(), 'strongroom-walk-'))
  await prepare?.(cwd)
  const { DEV_DIR: _, ...env } = process.env
  const shell = spawn('bash', args, {
    cwd,
    env: { ...env, ...(devFolder === undefined ? {} : { DEV_DIR: devFolder }) },
  })
  let output = ''
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  shell.stdin.end(commands.join(''))
  const exit = await new Promise((resolve) => shell.once('close', resolve))
  await rm(cwd, { recursive: true })
  return { exit, output }
}

/**
 * What a shell prints that is given all walks exactly as they are written, one after the other, beside a running stack.
 */
export const walkPages = async (devFolder: string): Promise<string> => {
  const walked = await typed({ args: ['-euo', 'pipefail'], commands: WALKS.flatMap(blocksOf), devFolder })
  expect(walked).toEqual({ exit: 0, output: expect.any(String) })
  return walked.output
}

/** What the walk's first block prints where the stack is in the folder's usual place. */
export const beginWalkAtUsualPlace = async (devFolder: string): Promise<string> => {
  const [helpers = ''] = blocksOf('README.md')
  const prepare = (folder: string) => symlink(devFolder, join(folder, '.dev'))
  return (await typed({ args: ['-euo', 'pipefail'], commands: [helpers], prepare })).output
}

/** What somebody sees who pastes walks at a prompt, which goes on after each error. */
export const pasteWalks = async (
  devFolder: string,
  pages: readonly (typeof WALKS)[number][] = WALKS,
): Promise<string> =>
  (await typed({ args: ['--norc', '--noprofile', '-i'], commands: pages.flatMap(blocksOf), devFolder })).output
