// Finds which of our files imports which, by text, because import scanners drop `import type`.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dir, '../..')
const PLACES = ['src', 'jobs', 'db', 'devnet', 'client']

export type File = {
  readonly path: string
  readonly text: string
  readonly imports: readonly string[]
  /** Those of them that a program loads: imports of values. */
  readonly loads: readonly string[]
}

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b(?:[^'"`;]*?\bfrom)?\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/g

const importsOf = (path: string, text: string): string[] =>
  [...text.matchAll(IMPORT)].map((match) => {
    const name = match[1] ?? match[2] ?? ''
    return name.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(path), name)) : name
  })

const CLAUSE =
  /(?:^|\n)\s*(?:import|export)\b([^'"`;]*?)(?:\bfrom)?\s*['"](\.[^'"]+)['"]|\bimport\(\s*['"](\.[^'"]+)['"]\s*\)/g

/** Types alone load nothing: `import type { A }`, `import { type A }`. */
const isOfTypes = (clause: string): boolean => {
  if (/^\s*type\b/.test(clause)) return true
  const [, names] = /^\s*\{([^}]*)\}/.exec(clause) ?? []
  return names !== undefined && /\S/.test(names) && names.split(',').every((name) => /^\s*(?:type\s|$)/.test(name))
}

const loadsOf = (path: string, text: string): string[] =>
  [...text.matchAll(CLAUSE)]
    .filter(([, clause = '']) => !isOfTypes(clause))
    .map(([, , first, second]) => relative(ROOT, resolve(ROOT, dirname(path), first ?? second ?? '')))

export const readSource = (path: string): File => {
  const text = readFileSync(join(ROOT, path), 'utf8')
  return { path, text, imports: importsOf(path, text), loads: loadsOf(path, text) }
}

/** The paths of all TypeScript files in a folder. */
export const scriptsIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter(
      (entry) =>
        entry.isFile() &&
        /\.tsx?$/.test(entry.name) &&
        !/node_modules|\/dist/.test(entry.parentPath.slice(ROOT.length)),
    )
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))

/** All files but the tests. */
export const readSources = (): File[] => PLACES.flatMap(scriptsIn).map(readSource)

/**
 * The paths of our files that a program loads, itself among them: its imports of values, and theirs, also those made
 * later.
 */
export const loadedBy = (program: string): ReadonlySet<string> => {
  const loaded = new Set([program])
  for (const path of loaded) {
    for (const target of readSource(path).loads) if (/\.tsx?$/.test(target)) loaded.add(target)
  }
  return loaded
}
