import type { InputHTMLAttributes } from 'preact'
import { useId, useState } from 'preact/hooks'
import { Chooser } from '../parts/inputs.js'
import type { Field } from './action.js'

interface FieldInputProps {
  readonly field: Field
  readonly value: string
  readonly onChange: (value: string) => void
}

export const FieldInput = ({ field, value, onChange }: FieldInputProps) => {
  const id = useId()
  const hint = field.hint === undefined ? {} : { 'aria-describedby': `${id}-hint` }
  if (field.groups?.some(({ options }) => options.some(({ about }) => about !== undefined)))
    return <OptionList field={field} value={value} onChange={onChange} />
  return (
    <div class={`field of-${field.kind}`}>
      <label for={id}>
        {field.label}
        {field.isRequired && <span class="needed"> *</span>}
      </label>
      <Input field={field} value={value} onChange={onChange} attributes={{ id, ...hint }} />
      {field.hint && (
        <span class="hint" id={`${id}-hint`}>
          {field.hint}
        </span>
      )}
    </div>
  )
}

/** The options of a `pick` with their descriptions, in groups. */
const OptionList = ({ field: { name, label, groups = [] }, value, onChange }: FieldInputProps) => (
  <div class="options" role="radiogroup" aria-label={label}>
    {groups
      .filter(({ options }) => options.length > 0)
      .map((group) => (
        <section key={group.label} aria-label={group.label}>
          <h3>{group.label}</h3>
          {group.options.map((option) => (
            <label key={option.name}>
              <input
                type="radio"
                name={name}
                value={option.name}
                checked={option.name === value}
                onChange={() => onChange(option.name)}
              />
              <span>
                <b>{option.name}</b> <span class="facts-of">{option.facts}</span>
                <span class="purpose">{option.about}</span>
              </span>
            </label>
          ))}
        </section>
      ))}
  </div>
)

interface InputProps extends FieldInputProps {
  /** The attributes that connect the input with its label and its hint. */
  readonly attributes: { readonly id: string; readonly 'aria-describedby'?: string }
}

/** Disables autofill, spell checking and automatic capitalization, because input may be secret. */
const QUIET = { autocomplete: 'off', spellcheck: false, autocapitalize: 'off' } as const

const INPUTS: Readonly<Partial<Record<Field['kind'], InputHTMLAttributes<HTMLInputElement>>>> = {
  secret: { type: 'password', autocomplete: 'new-password' },
  number: { type: 'text', inputMode: 'numeric' },
  milliseconds: { type: 'number', min: 1, max: 3_600_000, required: true },
}

const Input = ({
  field: { kind, choices = [], groups, none = 'None available' },
  value,
  onChange,
  attributes,
}: InputProps) => {
  const onInput = ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
    onChange(currentTarget.value)
  if (kind === 'check' || kind === 'force')
    return (
      <input
        {...attributes}
        type="checkbox"
        checked={value === 'true'}
        onChange={({ currentTarget }) => onChange(currentTarget.checked ? 'true' : '')}
      />
    )
  if (kind === 'choice') return <Chooser {...attributes} value={value} options={choices} onChoose={onChange} />
  if (kind === 'pick')
    return (
      <Chooser {...attributes} required disabled={!groups} value={value} options={[]} onChoose={onChange}>
        <option value="">{groups?.every(({ options }) => options.length === 0) ? none : 'Choose …'}</option>
        {groups?.map(({ label, options }) => (
          <optgroup key={label} label={label}>
            {options.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </optgroup>
        ))}
      </Chooser>
    )
  if (kind === 'lines' || kind === 'json' || kind === 'long')
    return <textarea {...attributes} {...QUIET} rows={kind === 'lines' ? 3 : 8} value={value} onInput={onInput} />
  return <input {...attributes} {...QUIET} {...(INPUTS[kind] ?? { type: 'text' })} value={value} onInput={onInput} />
}

interface OneInputProps {
  /** A `secret` is cleared after submission. */
  readonly kind: 'secret' | 'text'
  readonly label: string
  readonly button: string
  /** Rejects with an Error whose message can be shown to the user. */
  readonly onSubmit: (value: string) => Promise<void>
}

/** A form with one input and a button, for example for a key share. */
export const OneInput = ({ kind, label, button, onSubmit }: OneInputProps) => {
  const [value, setValue] = useState('')
  const [problem, setProblem] = useState('')
  const isSecret = kind === 'secret'
  return (
    <form
      class={isSecret ? '' : 'open'}
      autocomplete="off"
      onSubmit={(event) => {
        event.preventDefault()
        if (value.trim() === '') return
        setProblem('')
        onSubmit(value.trim()).catch((error: Error) => setProblem(error.message))
        if (isSecret) setValue('')
      }}
    >
      <FieldInput field={{ name: kind, label, kind }} value={value} onChange={setValue} />
      <button type="submit" class={isSecret ? 'main' : ''}>
        {button}
      </button>
      {isSecret && (
        <p role="alert" class="error">
          {problem}
        </p>
      )}
    </form>
  )
}
