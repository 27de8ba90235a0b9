import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { scripts } from '../package.json'

const FOLDER = new URL('../deploy/systemd/', import.meta.url)
/** The script of package.json that starts the same process. */
const SCRIPTS = { vault: scripts.vault, api: scripts.start, worker: scripts.worker }

/** Each setting of a unit, with all its values. */
const settingsOf = (name: string): ReadonlyMap<string, readonly string[]> => {
  const text = readFileSync(new URL(name, FOLDER), 'utf8')
  const lines = [...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, key = '', value = '']) => ({ key, value }))
  return new Map(lines.map(({ key }) => [key, lines.filter((line) => line.key === key).map(({ value }) => value)]))
}

test('there is a unit for each process', () => {
  const names = Object.keys(SCRIPTS).map((name) => `strongroom-${name}.service`)
  expect(readdirSync(FOLDER).sort()).toEqual(names.sort())
})

describe.each(Object.entries(SCRIPTS))('the unit of the %s', (name, script) => {
  const settings = settingsOf(`strongroom-${name}.service`)

  test('starts what the script starts, with the same variables', () => {
    const started = [...(settings.get('Environment') ?? []), ...(settings.get('ExecStart') ?? [])]
    expect(started.join(' ')).toBe(script)
  })

  test('runs as a user of its own, and cannot enter the folders with the keys of the others', () => {
    expect(settings.get('User')).toEqual([`strongroom-${name}`])
    const closed = settings.get('InaccessiblePaths')?.join(' ').split(' ') ?? []
    const others = Object.keys(SCRIPTS).filter((other) => other !== name)
    expect(closed.sort()).toEqual(
      others.flatMap((other) => [`-/etc/strongroom/${other}`, `-/etc/strongroom/${other}.env`]).sort(),
    )
  })
})

test('the units differ only where the processes do', () => {
  const hardening = Object.keys(SCRIPTS).map((name) => {
    const text = readFileSync(new URL(`strongroom-${name}.service`, FOLDER), 'utf8')
    return text.slice(text.indexOf('# It gets no rights'))
  })
  expect(new Set(hardening).size).toBe(1)
})
