//! Writes rows as a Parquet file, and reads such files.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};

use super::layout::{Cell, Field, Kind, Row, Table};

/// Number of rows in a row group.
pub(super) const ROWS_OF_A_GROUP: usize = 128 * 1024;
/// Files with fewer rows are written in another way.
const FEW_ROWS: usize = 256;
pub(super) const ZSTD_LEVEL: i32 = 3;

/// Returns a Parquet file with these rows. The same rows always produce the same bytes.
///
/// # Errors
///
/// Fails if the writer fails, which would be a mistake in crossprof.
pub(super) fn encoded(table: &Table, rows: &[Row]) -> Result<Vec<u8>> {
    let schema = schema(table)?;
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties(table, rows.len())?))?;
    for group in rows.chunks(ROWS_OF_A_GROUP) {
        let mut columns = writer.next_row_group()?;
        let mut place = 0;
        while let Some(mut column) = columns.next_column()? {
            write_column(column.untyped(), group, place)?;
            column.close()?;
            place += 1;
        }
        columns.close()?;
    }
    writer.into_inner()
}

fn schema(table: &Table) -> Result<Type> {
    let fields = table.fields.iter().map(|field| column_type(field).map(Arc::new)).collect::<Result<_>>()?;
    Type::group_type_builder("schema").with_fields(fields).build()
}

fn column_type(field: &Field) -> Result<Type> {
    let (physical, logical) = match field.kind {
        Kind::Int64 => (Physical::INT64, None),
        Kind::Double => (Physical::DOUBLE, None),
        Kind::Bool => (Physical::BOOLEAN, None),
        Kind::String => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Timestamp => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
    };
    let builder = Type::primitive_type_builder(&field.name, physical).with_repetition(Repetition::OPTIONAL);
    builder.with_logical_type(logical).build()
}

/// Returns the settings of a file.
///
/// Most files have a few rows and many columns: dictionaries and statistics would be most of the file. Snappy is as small as
/// zstd for columns of a few values, and takes half the time.
fn properties(table: &Table, rows: usize) -> Result<WriterProperties> {
    let paths = |kind: Kind| {
        let fields = table.fields.iter().filter(move |field| field.kind == kind);
        fields.map(|field| ColumnPath::from(field.name.as_str()))
    };
    let builder = WriterProperties::builder()
        .set_created_by(concat!("crossprof version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_offset_index_disabled(true)
        .set_dictionary_enabled(false);
    let builder: WriterPropertiesBuilder = if rows < FEW_ROWS {
        let builder = builder.set_compression(Compression::SNAPPY).set_statistics_enabled(EnabledStatistics::None);
        paths(Kind::Timestamp)
            .fold(builder, |builder, path| builder.set_column_statistics_enabled(path, EnabledStatistics::Chunk))
    } else {
        let builder = builder
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
            .set_statistics_enabled(EnabledStatistics::Chunk);
        paths(Kind::String).fold(builder, |builder, path| builder.set_column_dictionary_enabled(path, true))
    };
    Ok(builder.build())
}

/// Writes the column at `place` of these rows.
fn write_column(writer: &mut ColumnWriter<'_>, rows: &[Row], place: usize) -> Result<()> {
    let cells = || rows.iter().map(|row| row.get(place).unwrap_or(&Cell::Null));
    let is_set: Vec<i16> = cells().map(|cell| i16::from(!matches!(cell, Cell::Null))).collect();
    match writer {
        ColumnWriter::Int64ColumnWriter(writer) => {
            let values: Vec<i64> =
                cells().filter_map(|cell| if let Cell::Int(value) = cell { Some(*value) } else { None }).collect();
            writer.write_batch(&values, Some(&is_set), None)
        }
        ColumnWriter::DoubleColumnWriter(writer) => {
            let values: Vec<f64> =
                cells().filter_map(|cell| if let Cell::Float(value) = cell { Some(*value) } else { None }).collect();
            writer.write_batch(&values, Some(&is_set), None)
        }
        ColumnWriter::BoolColumnWriter(writer) => {
            let values: Vec<bool> =
                cells().filter_map(|cell| if let Cell::Flag(value) = cell { Some(*value) } else { None }).collect();
            writer.write_batch(&values, Some(&is_set), None)
        }
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let values: Vec<ByteArray> = cells()
                .filter_map(|cell| if let Cell::Text(text) = cell { Some(ByteArray::from(&**text)) } else { None })
                .collect();
            writer.write_batch(&values, Some(&is_set), None)
        }
        _ => Ok(0),
    }?;
    Ok(())
}

/// Returns the columns of a file that [`encoded`] wrote. `None` if the file has other columns.
///
/// # Errors
///
/// Fails if the file is damaged.
pub(super) fn decoded(table: &Table, file: Bytes) -> Result<Option<Vec<Vec<Cell>>>> {
    let reader = SerializedFileReader::new(file)?;
    if *reader.metadata().file_metadata().schema() != schema(table)? {
        return Ok(None);
    }
    let mut columns: Vec<Vec<Cell>> = table.fields.iter().map(|_| Vec::new()).collect();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or_default();
        for (place, cells) in columns.iter_mut().enumerate() {
            cells.extend(read_column(group.get_column_reader(place)?, rows)?);
        }
    }
    Ok(Some(columns))
}

fn read_column(reader: ColumnReader, rows: usize) -> Result<Vec<Cell>> {
    match reader {
        ColumnReader::Int64ColumnReader(reader) => cells(reader, rows, |value| Ok(Cell::Int(value))),
        ColumnReader::DoubleColumnReader(reader) => cells(reader, rows, |value| Ok(Cell::Float(value))),
        ColumnReader::BoolColumnReader(reader) => cells(reader, rows, |value| Ok(Cell::Flag(value))),
        ColumnReader::ByteArrayColumnReader(reader) => {
            cells(reader, rows, |text: ByteArray| Ok(Cell::Text(text.as_utf8()?.into())))
        }
        _ => Err(ParquetError::General("no table has columns of this type".to_owned())),
    }
}

fn cells<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    cell: impl Fn(T::T) -> Result<Cell>,
) -> Result<Vec<Cell>> {
    let (mut is_set, mut values) = (Vec::new(), Vec::new());
    while is_set.len() < rows {
        if reader.read_records(rows - is_set.len(), Some(&mut is_set), None, &mut values)?.0 == 0 {
            return Err(ParquetError::EOF("a column ends too early".to_owned()));
        }
    }
    let mut values = values.into_iter();
    is_set
        .iter()
        .map(|&level| if level == 0 { Ok(Cell::Null) } else { values.next().map_or(Ok(Cell::Null), &cell) })
        .collect()
}
