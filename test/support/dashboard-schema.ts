import { spawnSync } from 'node:child_process'
import path from 'node:path'
import type { Workplace } from './program.js'

/** Grafana's own model of a dashboard, as its package of types has it, asked by the compiler: there is no tool that reads it without a server. */

const ROOT = path.join(import.meta.dirname, '..', '..')
const TYPES = path.join(ROOT, 'node_modules', '@grafana', 'schema', 'dist', 'types')

/** In a file words stand where programs use members of an enumeration, and Grafana fills in what is left out of options. */
const MODEL = `
import type { Dashboard, Panel, FieldConfig } from '@grafana/schema'
import type { Options as StatOptions } from '@grafana/schema/stat'
import type { Options as CurveOptions, FieldConfig as CurveFields } from '@grafana/schema/timeseries'

type Written<T> = T extends string ? \`\${T}\` : T extends readonly (infer Item)[] ? Written<Item>[]
  : T extends object ? { [Key in keyof T]: Written<T[Key]> } : T
type Some<T> = T extends readonly (infer Item)[] ? Some<Item>[] : T extends object ? { [Key in keyof T]?: Some<T[Key]> } : T
type OfType<Type, Options, Custom> = Omit<Panel, 'type' | 'options' | 'fieldConfig'> & {
  type: Type
  options: Some<Options>
  fieldConfig: { defaults: Omit<FieldConfig, 'custom'> & { custom?: Some<Custom> }; overrides: never[] }
}
type Own = Omit<Dashboard, 'panels'> & {
  panels: (OfType<'stat', StatOptions, never> | OfType<'timeseries', CurveOptions, CurveFields>)[]
}
`

/** What Grafana's model has against a dashboard; nothing where it is one. */
export const complaintsAbout = (dashboard: unknown, place: Workplace): readonly string[] => {
  place.write(
    'dashboard.ts',
    `${MODEL}\nexport const dashboard: Written<Own> = ${JSON.stringify(dashboard, null, 1)}\n`,
  )
  const panel = (name: string) => [path.join(TYPES, 'raw', 'composable', name, 'panelcfg', 'x', 'types.gen.d.ts')]
  const project = place.write(
    'tsconfig.json',
    JSON.stringify({
      compilerOptions: {
        ...{ strict: true, noEmit: true, skipLibCheck: true, types: [], target: 'ES2022' },
        ...{ module: 'ESNext', moduleResolution: 'Bundler' },
        paths: {
          '@grafana/schema': [path.join(TYPES, 'index.d.ts')],
          '@grafana/schema/stat': panel('stat'),
          '@grafana/schema/timeseries': panel('timeseries'),
        },
      },
      files: ['dashboard.ts'],
    }),
  )
  const compiler = path.join(ROOT, 'node_modules', 'typescript', 'lib', 'tsc.js')
  const { stdout, status, error } = spawnSync(process.execPath, [compiler, '-p', project], { encoding: 'utf8' })
  if (error) throw error
  const lines = stdout.split('\n').filter((line) => line.includes('error TS'))
  if ((status === 0) !== (lines.length === 0)) throw new Error(`the compiler ended with ${status}: ${stdout}`)
  return lines
}
